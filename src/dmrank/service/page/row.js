/**
 * One row of the list: made once per place, and filled with whatever item is there.
 *
 * @module
 */

import { h, setAttribute, setText } from "./dom.js";
import { stars } from "./words.js";

/** @typedef {import("./state.js").Id} Id */

/**
 * @typedef {object} RowDetails What is asked of the server once the list stands still.
 * @property {string} rating Predicted, as it is shown.
 * @property {string} said The parts and ratings in words.
 * @property {"" | "start" | "middle" | "end"} bracket
 * @property {number | null} better Probability of being liked better than the next row.
 */

export class Row {
  /**
   * @param {number} place From 0.
   * @param {string[]} colors Class of the colour of each part.
   */
  constructor(place, colors) {
    /** @type {Id | null} */
    this.id = null;
    this.handle = h("button", { type: "button", class: "handle" }, "⠿");
    this.moved = h("span", { class: "moved" });
    this.name = h("button", { type: "button", class: "name", "aria-pressed": "false" });
    this.badge = h("span", { class: "badge", "aria-hidden": "true" });
    this.segments = colors.map((color) => h("i", { class: `segment ${color}` }));
    this.zero = h("i", { class: "zero" });
    this.bar = h("div", { class: "bar", role: "img" }, ...this.segments, this.zero);
    this.rating = h("span", { class: "rating" });
    this.bracket = h("span", { class: "bracket" });
    this.unsure = h("span", { class: "unseen" });
    this.element = h(
      "li",
      { class: "row", "data-place": place },
      this.handle,
      h("span", { class: "rank", "aria-hidden": "true" }, String(place + 1)),
      this.moved,
      h("span", { class: "who" }, this.badge, this.name),
      this.bar,
      this.rating,
      this.bracket,
      this.unsure,
    );
  }

  /**
   * @param {Id} id
   * @param {string} name
   */
  setItem(id, name) {
    if (this.id === id) return;
    this.id = id;
    this.element.dataset.item = String(id);
    this.name.textContent = name;
    this.name.title = name;
    this.handle.setAttribute("aria-label", `Move ${name}`);
  }

  /**
   * Draw the bar.
   *
   * @param {Float64Array} ends Of `stack`.
   * @param {number} zero Where zero is, as a share of the width.
   * @param {number} scale Share of the width per unit.
   */
  setBar(ends, zero, scale) {
    this.segments.forEach((segment, part) => {
      const left = zero + ends[2 * part] * scale;
      const width = (ends[2 * part + 1] - ends[2 * part]) * scale;
      segment.style.left = `${(left * 100).toFixed(3)}%`;
      segment.style.width = `${(width * 100).toFixed(3)}%`;
    });
    this.zero.style.left = `${(zero * 100).toFixed(3)}%`;
  }

  /**
   * @param {number | null} places How many the item went up since the movement began; null: it is
   *   new among the rows.
   */
  setMoved(places) {
    const text = places === null ? "new" : places === 0 ? "" : arrow(places);
    setText(this.moved, text);
    setAttribute(this.moved, "data-way", text && (places === null || places > 0 ? "up" : "down"));
  }

  /** @param {number} picked 0: no; 1 or 2: which of the two. */
  setPicked(picked) {
    setAttribute(this.name, "aria-pressed", String(picked > 0));
    setText(this.badge, picked === 0 ? "" : picked === 1 ? "A" : "B");
    this.element.classList.toggle("picked", picked > 0);
  }

  /** @param {RowDetails} details */
  setDetails({ rating, said, bracket, better }) {
    setText(this.rating, rating);
    setAttribute(this.bar, "aria-label", said);
    setAttribute(this.bracket, "data-part", bracket || null);
    const alike = bracket === "start" || bracket === "middle";
    setText(this.unsure, alike ? "Cannot be told apart from the next by liking." : "");
    this.bracket.title =
      better === null ? "" : `Liked better than the next row: ${Math.round(better * 100)} %`;
  }

  /** While a slider moves, what the server said of another list is not shown. */
  clearDetails() {
    setText(this.rating, "");
    setText(this.unsure, "");
    setAttribute(this.bracket, "data-part", null);
  }
}

/**
 * @param {number} places
 * @returns {string}
 */
function arrow(places) {
  return `${places > 0 ? "▲" : "▼"}${Math.abs(places)}`;
}

/**
 * Say a row's parts and predicted ratings in words.
 *
 * @param {string[]} names Of the parts.
 * @param {Float64Array} parts
 * @param {Record<string, number | null> | null} ratings
 * @returns {string}
 */
export function rowInWords(names, parts, ratings) {
  const added = names
    .map((name, part) => ({ name, value: parts[part] }))
    .filter(({ value }) => Math.abs(value) >= 0.005)
    .map(({ name, value }) => `${name} ${value < 0 ? "minus " : ""}${Math.abs(value).toFixed(2)}`);
  const predicted = Object.entries(ratings ?? {})
    .filter(([, rating]) => rating !== null)
    .map(([aspect, rating]) => `${aspect.replaceAll("_", " ")} ${stars(rating)}`);
  const sentences = [`Score of ${added.join(", ") || "nothing"}.`];
  if (predicted.length > 0) sentences.push(`Predicted ratings: ${predicted.join(", ")}.`);
  return sentences.join(" ");
}
