/**
 * What the service knows: the model, and the items in the order of the rows of scores.
 *
 * @module
 */

import { ask } from "./api.js";

/** @typedef {import("./state.js").Id} Id */

/**
 * @typedef {object} Model Answer of /v1/model, as far as the page needs it.
 * @property {string} model Its version.
 * @property {string} kind
 * @property {number} users
 * @property {number} items
 * @property {string[]} aspects
 * @property {string} primary_aspect
 * @property {Record<string, [number, number]>} scale
 * @property {{ users: string, items: string }} id_types
 * @property {number | null} preference
 * @property {{ compare_probability: boolean, explain: boolean, fold_in: boolean }} can
 */

export class Catalogue {
  /**
   * @param {Model} model
   * @param {Id[]} ids
   * @param {string[] | null} names
   */
  constructor(model, ids, names) {
    this.model = model;
    this.ids = ids;
    this.names = ids.map((id, row) => names?.[row] || String(id));
    /** @type {Map<string, number>} */
    this.rows = new Map(ids.map((id, row) => [String(id), row]));
  }

  /** @returns {Promise<Catalogue>} */
  static async load() {
    const [model, { items, names }] = await Promise.all([ask("/v1/model"), ask("/v1/items")]);
    return new Catalogue(model, items, names);
  }

  /**
   * @param {Id} id
   * @returns {string}
   */
  nameOf(id) {
    const row = this.rows.get(String(id));
    return row === undefined ? String(id) : this.names[row];
  }

  /**
   * @param {string} text Of an address.
   * @returns {Id} As the model has it.
   */
  itemId(text) {
    const row = this.rows.get(text);
    return row === undefined ? text : this.ids[row];
  }

  /**
   * @param {string} text
   * @returns {Id}
   */
  userId(text) {
    return this.model.id_types.users === "string" ? text : Number(text);
  }

  /**
   * Find items by what they are called: those that begin with the text, then those that have it.
   *
   * @param {string} text
   * @param {number} most
   * @returns {{ value: Id, label: string }[]}
   */
  search(text, most) {
    const wanted = text.trim().toLowerCase();
    const begin = [];
    const within = [];
    for (let row = 0; row < this.ids.length && begin.length < most; row++) {
      const at = this.names[row].toLowerCase().indexOf(wanted);
      if (at === 0) begin.push(row);
      else if (at > 0 && within.length < most) within.push(row);
    }
    const found = [...begin, ...within].slice(0, most);
    return found.map((row) => ({ value: this.ids[row], label: this.names[row] }));
  }
}
