/**
 * What happens when a row is dropped at another place: the sliders follow, or the page says why not.
 *
 * @module
 */

import { ask } from "./api.js";
import { byId, h } from "./dom.js";
import { serverAhead } from "./lists.js";
import { atHeightOf, changeInWords, mixOfState } from "./mix.js";
import { showProblem } from "./notices.js";
import { promote } from "./promote.js";
import { mixOf } from "./state.js";
import { listed } from "./words.js";

/** @typedef {import("./state.js").Id} Id */

/** Names of items in one sentence at most. */
const NAMED = 4;

/**
 * @typedef {object} Desk What the mover needs of the page.
 * @property {import("./catalogue.js").Catalogue} catalogue
 * @property {import("./state.js").State} state
 * @property {import("./person.js").Person} person
 * @property {import("./scores.js").Mix} mix
 * @property {import("./lists.js").BrowserLists | null} lists
 * @property {import("./list.js").List} list
 * @property {(changes: Partial<import("./state.js").State>) => void} change
 */

export class Mover {
  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.answer = byId("move-answer");
    this.busy = false;
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  async move(from, to) {
    if (this.busy) return;
    this.busy = true;
    const { list } = this.desk;
    const ids = list.view.ids;
    list.element.setAttribute("aria-busy", "true");
    try {
      await this.#ask(ids[from], ids, to);
    } catch (error) {
      showProblem(this.answer, error);
    } finally {
      list.element.removeAttribute("aria-busy");
      this.busy = false;
    }
  }

  /**
   * @param {Id} item
   * @param {Id[]} ids
   * @param {number} place
   */
  async #ask(item, ids, place) {
    const { catalogue, mix, person } = this.desk;
    const { model } = catalogue;
    const by = mixOf(model.aspects, mix.weights);
    const found = await promote({
      item,
      list: ids,
      place,
      ask: (orders) =>
        ask("/v1/weights", { body: { ...person, orders, by, preference: mix.share } }),
      ahead: (weights) => this.#ahead(atHeightOf(model, weights, mix.weights), item),
    });
    if ("prevented" in found) this.#sayPrevented(item, place, found.prevented);
    else this.#follow(item, atHeightOf(model, found.weights, mix.weights));
  }

  /**
   * @param {Record<string, number>} by
   * @param {Id} item
   * @returns {Promise<Id[]>}
   */
  #ahead(by, item) {
    const { catalogue, lists, person, state } = this.desk;
    const mix = mixOfState(catalogue.model, { ...state, by });
    return lists ? lists.ahead(mix, item) : serverAhead(catalogue, person, mix, item);
  }

  /**
   * @param {Id} item
   * @param {Record<string, number>} by
   */
  #follow(item, by) {
    const { catalogue, list, mix } = this.desk;
    this.desk.change({ by });
    const text = `The sliders followed: ${changeInWords(catalogue.model, mix.weights, this.desk.mix.weights)}.`;
    this.answer.replaceChildren(h("p", { class: "followed" }, text));
    const place = list.view.ids.indexOf(item);
    if (place >= 0) list.rows[place].handle.focus();
  }

  /**
   * @param {Id} item
   * @param {number} place
   * @param {Id[]} prevented
   */
  #sayPrevented(item, place, prevented) {
    const { catalogue } = this.desk;
    const names = prevented.slice(0, NAMED).map((id) => catalogue.nameOf(id));
    if (prevented.length > NAMED) names.push(`${prevented.length - NAMED} more`);
    const verb = names.length === 1 ? "prevents" : "prevent";
    const text = `No mix puts ${catalogue.nameOf(item)} in place ${place + 1}: ${listed(names)} ${verb} it.`;
    this.answer.replaceChildren(h("div", { class: "problem prevented" }, h("p", {}, text)));
  }
}
