/**
 * A closer look at one item that was chosen, or at two.
 *
 * @module
 */

import { ask, newest } from "./api.js";
import { Combobox } from "./combobox.js";
import { comparisonView } from "./compare.js";
import { byId, h } from "./dom.js";
import { showProblem } from "./notices.js";
import { reasonsView } from "./reasons.js";
import { shown, stars } from "./words.js";

/** @typedef {import("./state.js").Id} Id */
/** @typedef {import("./person.js").Person} Person */

/** Suggestions for an item that is looked for by name. */
const SUGGESTIONS = 12;

export class Panel {
  /**
   * @param {import("./catalogue.js").Catalogue} catalogue
   * @param {(picked: Id[]) => void} onPick
   */
  constructor(catalogue, onPick) {
    this.catalogue = catalogue;
    this.onPick = onPick;
    this.body = byId("panel-body");
    this.predicted = h("p", { class: "predicted" });
    /** @type {Map<Id, Record<string, number | null>>} */
    this.ratings = new Map();
    /** @type {Id[]} */
    this.picked = [];
    this.shown = "";
    /** @type {Combobox<Id>} */
    this.field = new Combobox({
      id: "item",
      label: "Any item",
      placeholder: "search by name",
      search: async (text) => catalogue.search(text, SUGGESTIONS),
      onChoose: (id) => this.onPick(withItem(this.picked, id)),
      onProblem: (error) => showProblem(this.body, error),
    });
    this.chosen = h("ul", { class: "chosen" });
    byId("panel-items").replaceChildren(this.chosen, this.field.element);
    this.load = newest(this.#load.bind(this), (error) => {
      this.shown = "";
      showProblem(this.body, error);
    });
  }

  /**
   * @param {Person} person
   * @param {Id[]} picked
   * @param {import("./state.js").State["by"]} by The mix that an explanation is about.
   */
  show(person, picked, by) {
    const asked = JSON.stringify([person, picked, picked.length === 1 ? by : null]);
    if (asked === this.shown) return;
    this.shown = asked;
    this.picked = picked;
    this.chosen.replaceChildren(...picked.map((id, place) => this.#chip(id, place)));
    this.field.input.value = "";
    if (picked.length === 0) {
      const hint = "Choose an item of the list, or two to compare them.";
      this.body.replaceChildren(h("p", { class: "hint" }, hint));
    } else void this.load(person, picked, by);
  }

  /**
   * Show the predicted ratings of the item, if it is one of the list.
   *
   * @param {Map<Id, Record<string, number | null>>} ratings Of all rows.
   */
  showRatings(ratings) {
    this.ratings = ratings;
    const own = this.picked.length === 1 ? ratings.get(this.picked[0]) : undefined;
    const parts = Object.entries(own ?? {}).map(([aspect, rating]) => {
      return h("span", {}, `${shown(aspect)} `, h("b", {}, stars(rating)));
    });
    this.predicted.replaceChildren(...(own ? ["You would rate it: ", ...parts] : []));
  }

  /**
   * @param {Id} id
   * @param {number} place
   * @returns {HTMLElement}
   */
  #chip(id, place) {
    const name = this.catalogue.nameOf(id);
    const drop = () => this.onPick(this.picked.filter((other) => other !== id));
    return h(
      "li",
      {},
      h("span", { class: "badge", "aria-hidden": "true" }, place === 0 ? "A" : "B"),
      h("span", { class: "chosen-name" }, name),
      h(
        "button",
        { type: "button", class: "drop", "aria-label": `Without ${name}`, click: drop },
        "×",
      ),
    );
  }

  /**
   * @param {AbortSignal} signal
   * @param {Person} person
   * @param {Id[]} picked
   * @param {import("./state.js").State["by"]} by
   */
  async #load(signal, person, picked, by) {
    this.body.setAttribute("aria-busy", "true");
    try {
      const view = await this.#view(signal, person, picked, by);
      if (signal.aborted) return;
      this.body.replaceChildren(view, this.predicted);
      this.showRatings(this.ratings);
    } finally {
      if (!signal.aborted) this.body.removeAttribute("aria-busy");
    }
  }

  /**
   * @param {AbortSignal} signal
   * @param {Person} person
   * @param {Id[]} picked
   * @param {import("./state.js").State["by"]} by
   * @returns {Promise<HTMLElement>}
   */
  async #view(signal, person, [first, second], by) {
    if (second === undefined) {
      const body = { ...person, item: first, by: this.#explainable(by) };
      return reasonsView(await ask("/v1/explain", { body, signal }));
    }
    return comparisonView(await ask("/v1/compare", { body: { ...person, first, second }, signal }));
  }

  /**
   * A mix is explained by the aspects outside of it: of one that has them all, the heaviest counts.
   *
   * @param {import("./state.js").State["by"]} by
   * @returns {Record<string, number> | null} Null: the primary aspect.
   */
  #explainable(by) {
    if (by === null || by === "all") return null;
    const named = Object.entries(by);
    if (named.length < this.catalogue.model.aspects.length) return by;
    const most = Math.max(...named.map(([, weight]) => weight));
    const heaviest = named.filter(([, weight]) => weight === most);
    return heaviest.length > 1 ? null : Object.fromEntries(heaviest);
  }
}

/**
 * Return the items that are chosen after a click on one: two at most, the last ones.
 *
 * @param {Id[]} picked
 * @param {Id} id
 * @returns {Id[]}
 */
export function withItem(picked, id) {
  if (picked.includes(id)) return picked.filter((other) => other !== id);
  return [...picked, id].slice(-2);
}
