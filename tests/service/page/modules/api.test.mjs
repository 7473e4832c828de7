import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import {
  Problem,
  ask,
  newest,
  onKeyWanted,
  oneAtATime,
} from "../../../../src/dmrank/service/page/api.js";

/** Lets everything go on that waits for nothing but its turn. */
const turns = () => new Promise((done) => setImmediate(done));

beforeEach(() => {
  const kept = new Map();
  globalThis.sessionStorage = {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => kept.set(name, value),
  };
});

afterEach(() => mock.restoreAll());

function answering(answer) {
  return mock.method(globalThis, "fetch", async (path, options) => answer(path, options));
}

test("a problem is what the service says of it", async () => {
  const headers = { "Retry-After": "3" };
  answering(() => new Response('{"detail": "too many"}', { status: 429, headers }));
  await assert.rejects(ask("/v1/model"), (error) => {
    assert.ok(error instanceof Problem);
    assert.equal(error.status, 429);
    return error.message === "too many (try again in 3 s)";
  });
});

test("an answer that is no JSON is a problem as well", async () => {
  answering(() => new Response("<html>", { status: 502 }));
  await assert.rejects(ask("/v1/model"), /status 502/);
});

test("no answer at all is a problem", async () => {
  answering(() => Promise.reject(new TypeError("fetch failed")));
  await assert.rejects(ask("/v1/model"), /does not answer/);
});

test("requests that want a key at the same time ask for it once, and again if it is wrong", async () => {
  const keys = ["wrong", "right"];
  const asked = [];
  onKeyWanted(async (wrong) => {
    asked.push(wrong);
    await turns();
    return keys.shift();
  });
  answering((_, { headers }) => {
    const known = headers.get("Authorization") === "Bearer right";
    return known ? Response.json({ fine: true }) : new Response("{}", { status: 401 });
  });
  assert.deepEqual(await Promise.all([ask("/a"), ask("/b")]), [{ fine: true }, { fine: true }]);
  assert.deepEqual(asked, [false, true]);
});

test("what is asked anew is given up, and its failure is nobody's", async () => {
  const shown = [];
  const failed = [];
  const run = newest(
    async (signal, value) => {
      await turns();
      if (value === "old") throw new Error("of the old one");
      if (!signal.aborted) shown.push(value);
    },
    (error) => failed.push(error),
  );
  await Promise.all([run("old"), run("older"), run("new")]);
  assert.deepEqual([shown, failed], [["new"], []]);
});

test("of calls while one is running, one more is run", async () => {
  let runs = 0;
  const start = oneAtATime(async () => {
    runs += 1;
    await turns();
  });
  for (let call = 0; call < 5; call++) start();
  assert.equal(runs, 1);
  await turns();
  await turns();
  await turns();
  assert.equal(runs, 2);
});
