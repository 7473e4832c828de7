/**
 * What the page says: problems in their place, and the new order to screen readers.
 *
 * @module
 */

import { Problem, isAbort } from "./api.js";
import { byId, h } from "./dom.js";

/**
 * Show what went wrong in the place where it was asked for.
 *
 * @param {HTMLElement} place
 * @param {unknown} error
 * @param {(() => void) | null} [again] What "Try again" does.
 */
export function showProblem(place, error, again = null) {
  if (isAbort(error)) return;
  if (!(error instanceof Problem)) console.error(error);
  const text = error instanceof Error ? error.message : String(error);
  const retry = again && h("button", { type: "button", class: "quiet", click: again }, "Try again");
  place.replaceChildren(h("div", { class: "problem", role: "alert" }, h("p", {}, text), retry));
}

/** @param {HTMLElement} place */
export function clearProblem(place) {
  place.replaceChildren();
}

/**
 * Say something to screen readers, when they have finished what they are saying.
 *
 * @param {string} text
 */
export function announce(text) {
  byId("announcer").textContent = text;
}
