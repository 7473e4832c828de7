/**
 * The list: rows of stacked bars, one element per place, filled anew at every change.
 *
 * Rows are never moved in the document, so that it reads in the order of the list, and a change
 * costs the styles of a few hundred elements.
 *
 * @module
 */

import { h } from "./dom.js";
import { Row, rowInWords } from "./row.js";
import { brackets, reach, roundUp, stack } from "./stack.js";
import { stars } from "./words.js";

/** @typedef {import("./state.js").Id} Id */

/**
 * @typedef {object} View What a list shows.
 * @property {Id[]} ids
 * @property {string[]} names
 * @property {Float64Array | null} parts What each part adds to each score, row by row; null: there
 *   are none, as of "all together".
 * @property {number[]} scores
 */

/**
 * @typedef {object} ServerRow A row of /v1/recommend.
 * @property {Id} item
 * @property {string | null} name
 * @property {number} score
 * @property {number | null} exposure
 * @property {Record<string, number | null>} ratings
 * @property {Record<string, number> | null} contributions
 * @property {number | null} better_than_next
 */

/** How long rows take to their new places, in milliseconds. */
const GLIDE = 260;

export class List {
  /**
   * @param {HTMLElement} element
   * @param {{ names: string[], colors: string[], primary: string }} parts
   * @param {(id: Id) => void} onPick
   */
  constructor(element, parts, onPick) {
    this.element = element;
    this.parts = parts;
    this.onPick = onPick;
    this.aligned = -1;
    /** @type {Row[]} */
    this.rows = [];
    /** @type {View} */
    this.view = { ids: [], names: [], parts: null, scores: [] };
    /** @type {Id[]} Where items were when the movement began. */
    this.before = [];
  }

  /**
   * Show a list.
   *
   * @param {View} view
   * @param {Id[]} picked
   * @param {boolean} glide Whether rows go to their new places in sight.
   */
  render(view, picked, glide) {
    const old = this.view.ids;
    this.view = view;
    this.#fitRows(view.ids.length);
    const bars = this.#bars(view);
    view.ids.forEach((id, place) => {
      const row = this.rows[place];
      row.setItem(id, view.names[place]);
      row.setPicked(picked.indexOf(id) + 1);
      row.setMoved(this.before.length === 0 ? 0 : wentUp(this.before, id, place));
      if (!sameOrder(old, view.ids, place)) row.clearDetails();
      bars(row, place);
    });
    this.element.classList.toggle("whole", view.parts === null);
    if (glide) this.#glide(old);
  }

  /** Show how far rows move from here on. */
  startMovement() {
    this.before = this.view.ids;
  }

  /** @param {number} part At which bars are aligned; −1: none. */
  align(part) {
    this.aligned = part;
    const bars = this.#bars(this.view);
    this.rows.forEach((row, place) => bars(row, place));
  }

  /**
   * Show what the server knows of the rows.
   *
   * @param {ServerRow[]} answer
   */
  showDetails(answer) {
    const known = new Map(answer.map((row, place) => [row.item, { row, next: answer[place + 1] }]));
    const better = this.view.ids.map((id, place) => {
      const found = known.get(id);
      return found?.next?.item === this.view.ids[place + 1]
        ? (found?.row.better_than_next ?? null)
        : null;
    });
    const bracketed = brackets(better);
    this.rows.forEach((row, place) => {
      const found = known.get(this.view.ids[place])?.row;
      row.setDetails({
        rating: found ? stars(found.ratings[this.parts.primary]) : "",
        said: rowInWords(this.parts.names, this.#partsOf(place), found?.ratings ?? null),
        bracket: bracketed[place],
        better: better[place],
      });
    });
  }

  /** @param {number} place */
  #partsOf(place) {
    const width = this.parts.names.length;
    return this.view.parts?.subarray(place * width, (place + 1) * width) ?? new Float64Array(width);
  }

  /**
   * Return what draws the bar of a row, all on one scale.
   *
   * @param {View} view
   * @returns {(row: Row, place: number) => void}
   */
  #bars(view) {
    const width = this.parts.names.length;
    if (view.parts === null) return wholeBars(view.scores, width);
    const { left, right } = reach(view.parts, width);
    const below = left < right / 50 ? left : roundUp(left);
    const scale = 1 / (below + roundUp(right) || 1);
    return (row, place) => {
      row.setBar(stack(this.#partsOf(place), this.aligned), below * scale, scale);
    };
  }

  /** @param {number} count */
  #fitRows(count) {
    while (this.rows.length < count) {
      const row = new Row(this.rows.length, this.parts.colors);
      row.name.addEventListener("click", () => {
        if (row.id !== null) this.onPick(row.id);
      });
      this.rows.push(row);
      this.element.append(row.element);
    }
    while (this.rows.length > count) this.rows.pop()?.element.remove();
  }

  /**
   * Let rows glide from where their items were.
   *
   * @param {Id[]} old
   */
  #glide(old) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || this.rows.length === 0) return;
    const height = this.rows[0].element.offsetHeight;
    const places = new Map(old.map((id, place) => [id, place]));
    this.view.ids.forEach((id, place) => {
      const was = places.get(id);
      const { element } = this.rows[place];
      if (was === undefined) {
        if (old.length > 0) element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: GLIDE });
      } else if (was !== place) {
        const from = { transform: `translateY(${(was - place) * height}px)` };
        element.animate([from, { transform: "none" }], { duration: GLIDE, easing: "ease-out" });
      }
    });
  }
}

/**
 * Bars of lists whose scores have no parts: one segment, in the colour of the first part.
 *
 * @param {number[]} scores
 * @param {number} width
 * @returns {(row: Row, place: number) => void}
 */
function wholeBars(scores, width) {
  const most = Math.max(...scores, 0) || 1;
  return (row, place) => {
    const ends = new Float64Array(2 * width);
    ends[1] = Math.max(scores[place], 0) / most;
    row.setBar(ends, 0, 1);
  };
}

/**
 * @param {Id[]} before
 * @param {Id} id
 * @param {number} place
 * @returns {number | null} Null: it is new among these places; nothing is known of further ones.
 */
function wentUp(before, id, place) {
  const was = before.indexOf(id);
  if (was >= 0) return was - place;
  return place < before.length ? null : 0;
}

/**
 * @param {Id[]} old
 * @param {Id[]} now
 * @param {number} place
 * @returns {boolean} Whether the row and the next one hold what they held.
 */
function sameOrder(old, now, place) {
  return old[place] === now[place] && old[place + 1] === now[place + 1];
}

/**
 * The parts of the bars with their colours; a click on one aligns the bars at it.
 *
 * @param {HTMLElement} place
 * @param {{ names: string[], colors: string[] }} parts
 * @param {(part: number) => void} onAlign
 * @returns {(aligned: number, counts: (part: number) => boolean | null) => void} Shows which is
 *   aligned, and which count at present; null: it never does.
 */
export function makeLegend(place, parts, onAlign) {
  const buttons = parts.names.map((name, part) => {
    const label = h("span", {}, name);
    const attributes = {
      type: "button",
      class: `chip ${parts.colors[part]}`,
      "aria-pressed": "false",
    };
    return h(
      "button",
      { ...attributes, click: () => onAlign(part) },
      h("span", { class: "swatch" }),
      label,
    );
  });
  place.replaceChildren(
    h("span", { class: "legend-title", "aria-hidden": "true" }, "Align at"),
    ...buttons,
  );
  return (aligned, counts) => {
    buttons.forEach((button, part) => {
      button.setAttribute("aria-pressed", String(part === aligned));
      button.classList.toggle("unused", !counts(part));
      button.hidden = counts(part) === null;
    });
  };
}
