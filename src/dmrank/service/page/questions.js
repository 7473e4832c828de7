/**
 * Five questions to a newcomer. What is answered goes into the address, and nowhere is it stored.
 *
 * @module
 */

import { ask } from "./api.js";
import { h } from "./dom.js";
import { showProblem } from "./notices.js";
import { starField } from "./stars.js";
import { count, shown } from "./words.js";

/** @typedef {import("./state.js").Rating} Rating */
/** @typedef {{ item: string | number, name: string | null, ratings: number }} Question */

/** Questions at a time, and those that can be had in place of one that nobody can answer. */
const [AT_ONCE, IN_ALL] = [5, 10];

export class Questions {
  /**
   * @param {HTMLElement} place
   * @param {import("./catalogue.js").Catalogue} catalogue
   * @param {(ratings: Rating[]) => void} onRatings
   */
  constructor(place, catalogue, onRatings) {
    this.place = place;
    this.catalogue = catalogue;
    this.onRatings = onRatings;
    /** @type {Rating[]} */
    this.ratings = [];
    /** @type {Question[] | null} */
    this.asked = null;
    /** @type {Set<import("./state.js").Id>} Items that the newcomer does not know. */
    this.unknown = new Set();
  }

  /**
   * Show the questions, with what was answered before.
   *
   * @param {Rating[]} ratings
   */
  async show(ratings) {
    this.place.hidden = false;
    const same = JSON.stringify(ratings) === JSON.stringify(this.ratings);
    if (this.asked !== null && same) return;
    this.ratings = ratings;
    try {
      if (this.asked === null) await this.#load();
      this.#render();
    } catch (error) {
      showProblem(this.place, error, () => void this.show(ratings));
    }
  }

  hide() {
    this.place.hidden = true;
  }

  async #load() {
    const first = await this.#ask(AT_ONCE);
    const answered = new Set(this.ratings.map(({ item }) => item));
    const known = new Set(first.map(({ item }) => item));
    const more = [...answered].every((item) => known.has(item)) ? [] : await this.#ask(IN_ALL);
    const all = [...first, ...more.filter(({ item }) => !known.has(item))];
    // What was answered is asked again, so that the answer can be changed.
    all.sort((one, other) => Number(answered.has(other.item)) - Number(answered.has(one.item)));
    this.asked = all.slice(0, AT_ONCE);
  }

  /**
   * @param {number} n
   * @returns {Promise<Question[]>}
   */
  async #ask(n) {
    return (await ask("/v1/questions", { query: [["n", n]] })).questions;
  }

  #render() {
    const asked = this.asked ?? [];
    this.place.replaceChildren(
      h(
        "p",
        { class: "hint" },
        "How did you like these? One answer is enough for a list of your own. Nothing is stored.",
      ),
      h("ol", { class: "questions" }, ...asked.map((question) => this.#question(question))),
    );
  }

  /**
   * @param {Question} question
   * @returns {HTMLElement}
   */
  #question(question) {
    const { aspects, primary_aspect: primary, scale } = this.catalogue.model;
    const rating = this.ratings.find(({ item }) => item === question.item);
    const name = question.name || String(question.item);
    /** @param {string} aspect */
    const field = (aspect) =>
      starField(shown(aspect), scale[aspect], Number(rating?.[aspect]) || null, (value) => {
        this.#answer(question, aspect, value);
      });
    const others = aspects.filter((aspect) => aspect !== primary);
    const given = rating !== undefined && others.some((aspect) => aspect in rating);
    const more = h(
      "details",
      { open: given },
      h("summary", {}, "aspect by aspect"),
      ...others.map(field),
    );
    const unknown = h(
      "button",
      { type: "button", class: "quiet", click: () => void this.#exchange(question) },
      "I do not know it",
    );
    unknown.setAttribute("aria-label", `I do not know it: ${name}`);
    return h(
      "li",
      {},
      h(
        "div",
        { class: "question", role: "group", "aria-label": name },
        h("h3", {}, name),
        h("p", { class: "hint" }, `${count(question.ratings)} ratings`),
        field(primary),
        others.length > 0 ? more : null,
        unknown,
      ),
    );
  }

  /**
   * @param {Question} question
   * @param {string} aspect
   * @param {number | null} value
   */
  #answer(question, aspect, value) {
    const old = this.ratings.find(({ item }) => item === question.item);
    /** @type {Rating} */
    const rating = { ...(old ?? {}), item: question.item };
    if (value === null) delete rating[aspect];
    else rating[aspect] = value;
    this.#keep(question, Object.keys(rating).length > 1 ? rating : null);
  }

  /**
   * Ask about another item.
   *
   * @param {Question} question
   */
  async #exchange(question) {
    this.unknown.add(question.item);
    this.#keep(question, null);
    try {
      const asked = new Set((this.asked ?? []).map(({ item }) => item));
      const others = await this.#ask(IN_ALL);
      const next = others.find(({ item }) => !asked.has(item) && !this.unknown.has(item));
      this.asked = (this.asked ?? []).map((old) => (old === question && next ? next : old));
      this.#render();
    } catch (error) {
      showProblem(this.place, error, () => this.#render());
    }
  }

  /**
   * @param {Question} question
   * @param {Rating | null} rating Null: it is taken back.
   */
  #keep(question, rating) {
    const others = this.ratings.filter(({ item }) => item !== question.item);
    const changed = others.length < this.ratings.length || rating !== null;
    this.ratings = rating === null ? others : [...others, rating];
    if (changed) this.onRatings(this.ratings);
  }
}
