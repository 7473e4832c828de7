/**
 * Why an item is in the list: the sentence, and what is known of each aspect.
 *
 * @module
 */

import { h } from "./dom.js";
import { count, shown, signed, stars } from "./words.js";

/**
 * @typedef {object} Explained Answer of /v1/explain.
 * @property {string} sentence
 * @property {{ aspect: string, relevance: number | null, item_mean: number | null,
 *   item_ratings: number | null, user_mean: number | null, user_ratings: number | null }[]} aspects
 */

/**
 * @param {Explained} explained
 * @returns {HTMLElement}
 */
export function reasonsView({ sentence, aspects }) {
  const most = Math.max(...aspects.map(({ relevance }) => Math.abs(relevance ?? 0)), 1e-9);
  const rows = aspects.map((row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, shown(row.aspect)),
      h("td", {}, meter(row.relevance, most)),
      h("td", { class: "number" }, mean(row.item_mean, row.item_ratings)),
      h("td", { class: "number" }, mean(row.user_mean, row.user_ratings)),
    ),
  );
  const heads = ["Aspect", "Relevance", "Its mean", "Your mean"].map((text, column) =>
    h("th", { scope: "col", class: column > 1 ? "number" : null }, text),
  );
  return h(
    "div",
    {},
    h("p", { class: "sentence" }, sentence),
    h(
      "table",
      { class: "evidence" },
      h("caption", { class: "unseen" }, "What speaks for it, aspect by aspect"),
      h("thead", {}, h("tr", {}, ...heads)),
      h("tbody", {}, ...rows),
    ),
  );
}

/**
 * @param {number | null} relevance
 * @param {number} most
 * @returns {HTMLElement}
 */
function meter(relevance, most) {
  if (relevance === null) return h("span", {}, "–");
  const bar = h("span", { class: "meter-bar" });
  bar.style.width = `${(Math.max(relevance, 0) / most) * 100}%`;
  const text = h("span", { class: "meter-text" }, signed(relevance));
  return h("span", { class: "meter" }, h("span", { class: "meter-track" }, bar), text);
}

/**
 * @param {number | null} value
 * @param {number | null} ratings
 * @returns {string}
 */
function mean(value, ratings) {
  if (value === null) return "–";
  return ratings === null ? stars(value) : `${stars(value)} (${count(ratings)})`;
}
