/**
 * Two items: which one will be liked better on each aspect, how sure that is, and in a sentence.
 *
 * @module
 */

import { h } from "./dom.js";
import { percent, shown, signed, unbroken } from "./words.js";

/** @typedef {import("./state.js").Id} Id */

/**
 * @typedef {object} Compared Answer of /v1/compare.
 * @property {Id} first
 * @property {Id} second
 * @property {[string, string]} names
 * @property {{ aspect: string, better: Id | null, difference: number,
 *   probability: number | null }[]} aspects
 * @property {Record<string, number>} direction
 * @property {number | null} confidence
 * @property {string} sentence
 */

/**
 * @param {Compared} compared
 * @returns {HTMLElement}
 */
export function comparisonView(compared) {
  const [first, second] = [
    compared.names[0] || String(compared.first),
    compared.names[1] || String(compared.second),
  ];
  const most = Math.max(...Object.values(compared.direction).map(Math.abs), 1e-9);
  const rows = compared.aspects.map((row) => {
    const better = row.better === null ? null : row.better === compared.first ? first : second;
    return aspectRow(row, compared.direction[row.aspect] ?? 0, most, better);
  });
  return h(
    "div",
    {},
    h("p", { class: "sentence" }, unbroken(compared.sentence)),
    h(
      "table",
      { class: "direction" },
      h("caption", { class: "unseen" }, `${first} and ${second}, aspect by aspect`),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Aspect"),
          h("th", { scope: "col" }, sides(first, second)),
          h("th", { scope: "col", class: "number" }, "Sure"),
        ),
      ),
      h("tbody", {}, ...rows),
    ),
    compared.confidence === null ? null : h("p", { class: "hint" }, surer(compared.confidence)),
  );
}

/**
 * @param {string} first
 * @param {string} second
 * @returns {HTMLElement}
 */
function sides(first, second) {
  return h(
    "span",
    { class: "sides" },
    h("span", { title: first }, "← A ", h("span", { class: "unseen" }, first), "better"),
    h("span", { title: second }, "B ", h("span", { class: "unseen" }, second), "better →"),
  );
}

/**
 * @param {Compared["aspects"][number]} row
 * @param {number} component Of the direction from the second item to the first, length 1.
 * @param {number} most
 * @param {string | null} better
 * @returns {HTMLElement}
 */
function aspectRow({ aspect, difference, probability }, component, most, better) {
  const bar = h("span", { class: "needle" });
  // The first item is on the left.
  const half = (Math.abs(component) / most) * 50;
  bar.style.left = `${component > 0 ? 50 - half : 50}%`;
  bar.style.width = `${half}%`;
  const words =
    better === null ? "equal" : `${better} better by ${Math.abs(difference).toFixed(2)}`;
  const cell = h("span", { class: "needle-track", title: signed(difference) }, bar);
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, shown(aspect)),
    h("td", {}, cell, h("span", { class: "unseen" }, words)),
    h("td", { class: "number" }, probability === null ? "–" : percent(probability)),
  );
}

/**
 * @param {number} confidence
 * @returns {string}
 */
function surer(confidence) {
  return `All aspects together: surer than of ${percent(confidence)} of pairs of items.`;
}
