/**
 * Requests to the service: problems as errors, a key where one is wanted, the latest answer wins.
 *
 * @module
 */

/** @typedef {import("./state.js").Id} Id */

/** Where the key is kept until the tab is closed. */
const KEY = "dmrank-key";

/** What the service says of a request that it cannot answer (RFC 9457). */
export class Problem extends Error {
  /**
   * @param {number} status 0: there was no answer at all.
   * @param {string} detail A sentence for people.
   */
  constructor(status, detail) {
    super(detail);
    this.name = "Problem";
    this.status = status;
  }
}

/** @type {(wrong: boolean) => Promise<string>} */
let askForKey = () => Promise.reject(new Problem(401, "the service wants a key"));

/**
 * Say how a person is asked for the key, when the service wants one.
 *
 * @param {(wrong: boolean) => Promise<string>} ask It is told whether a key was refused.
 */
export function onKeyWanted(ask) {
  askForKey = ask;
}

/**
 * @typedef {object} Call
 * @property {[string, Id][]} [query]
 * @property {object} [body] With it, the request is a POST.
 * @property {AbortSignal} [signal]
 */

/**
 * @param {string} path
 * @param {Call} [call]
 * @returns {Promise<Response>}
 */
export async function send(path, call = {}) {
  const key = sessionStorage.getItem(KEY);
  const answer = await fetchOrProblem(path, call, key);
  if (answer.status === 401) {
    // Another request may have asked, and got, a key meanwhile.
    if (key === sessionStorage.getItem(KEY)) {
      sessionStorage.setItem(KEY, await keyOnce(key !== null));
    }
    return send(path, call);
  }
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

/**
 * @param {string} path
 * @param {Call} [call]
 * @returns {Promise<any>} The parsed JSON.
 */
export async function ask(path, call) {
  return (await send(path, call)).json();
}

/** @type {Promise<string> | null} */
let asking = null;

/**
 * Requests that fail together open one dialog.
 *
 * @param {boolean} wrong
 * @returns {Promise<string>}
 */
function keyOnce(wrong) {
  asking ??= askForKey(wrong).finally(() => {
    asking = null;
  });
  return asking;
}

/**
 * @param {string} path
 * @param {Call} call
 * @param {string | null} key
 * @returns {Promise<Response>}
 */
async function fetchOrProblem(path, { query = [], body, signal }, key) {
  const fields = new URLSearchParams(query.map(([name, value]) => [name, String(value)]));
  const headers = new Headers();
  if (key !== null) headers.set("Authorization", `Bearer ${key}`);
  if (body !== undefined) headers.set("Content-Type", "application/json");
  try {
    return await fetch(fields.size > 0 ? `${path}?${fields}` : path, {
      method: body === undefined ? "GET" : "POST",
      body: body === undefined ? undefined : JSON.stringify(body),
      headers,
      signal,
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Problem(0, "The service does not answer: is it still running?");
  }
}

/**
 * @param {Response} answer
 * @returns {Promise<Problem>}
 */
async function problemOf(answer) {
  const said = await answer.json().catch(() => null);
  const detail =
    said?.detail ?? said?.title ?? `The service answered with status ${answer.status}.`;
  const wait = answer.headers.get("Retry-After");
  return new Problem(answer.status, wait === null ? detail : `${detail} (try again in ${wait} s)`);
}

/**
 * @param {unknown} error
 * @returns {boolean} Whether a newer request took the place of the one that failed.
 */
export function isAbort(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/**
 * Return a function that gives up what it is doing when it is called again.
 *
 * @template {unknown[]} A
 * @param {(signal: AbortSignal, ...args: A) => Promise<void>} run
 * @param {(error: unknown) => void} fail
 * @returns {(...args: A) => Promise<void>}
 */
export function newest(run, fail) {
  let current = new AbortController();
  return async (...args) => {
    current.abort();
    const own = (current = new AbortController());
    try {
      await run(own.signal, ...args);
    } catch (error) {
      if (!own.signal.aborted) fail(error);
    }
  };
}

/**
 * Return a function that runs once at a time; of calls meanwhile, the last one is run afterwards.
 *
 * What follows a slider goes on while it moves: giving up each request for the next would starve
 * it.
 *
 * @param {() => Promise<void>} run
 * @returns {() => void}
 */
export function oneAtATime(run) {
  let running = false;
  let again = false;
  const start = () => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    void run().finally(() => {
      running = false;
      if (again) {
        again = false;
        start();
      }
    });
  };
  return start;
}

/**
 * Return a function that calls another one when it was left alone for a while.
 *
 * @param {() => void} run
 * @param {number} wait In milliseconds.
 * @returns {() => void}
 */
export function settled(run, wait) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, wait);
  };
}
