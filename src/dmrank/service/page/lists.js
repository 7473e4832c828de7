/**
 * Where lists come from: exact and at once out of a user's scores, or from the server.
 *
 * @module
 */

import { ask, send } from "./api.js";
import { bands } from "./bands.js";
import { listCall, scoresCall } from "./person.js";
import { bestRows, coefficients, contributions, rowsBefore, scoreRows, sum } from "./scores.js";
import { mixOf } from "./state.js";

/** @typedef {import("./state.js").Id} Id */
/** @typedef {import("./scores.js").Mix} Mix */
/** @typedef {import("./person.js").Person} Person */
/** @typedef {import("./catalogue.js").Catalogue} Catalogue */
/** @typedef {import("./list.js").View} View */
/** @typedef {import("./list.js").ServerRow} ServerRow */

/** Up to so many items, lists are made in the browser. */
export const IN_BROWSER = 50_000;
/** The rows whose order the bands are about. */
const TOP = 5;
/** How far down the server's list one looks for an item: its longest list. */
const DEEPEST = 1000;

/** The model was exchanged between two answers. */
export class OtherModel extends Error {}

/** Lists that are made in the browser. */
export class BrowserLists {
  /**
   * @param {Catalogue} catalogue
   * @param {Float32Array} values
   */
  constructor(catalogue, values) {
    this.catalogue = catalogue;
    /** @type {import("./scores.js").Table} */
    this.table = { values, width: catalogue.model.aspects.length + 1 };
    // Scores of lists are single precision: what is equal in the library is equal here.
    this.scores = new Float32Array(catalogue.ids.length);
  }

  /**
   * @param {Catalogue} catalogue
   * @param {Person} person
   * @param {AbortSignal} signal
   * @returns {Promise<BrowserLists>}
   */
  static async load(catalogue, person, signal) {
    const answer = await send("/v1/scores", { ...scoresCall(person), signal });
    const recipe = JSON.parse(answer.headers.get("dmrank-recipe") ?? "{}");
    if (recipe.model !== catalogue.model.model) throw new OtherModel();
    return new BrowserLists(catalogue, littleEndian(await answer.arrayBuffer()));
  }

  /**
   * @param {Mix} mix
   * @param {number} n
   * @returns {{ view: View, bands: import("./bands.js").Bands }}
   */
  list(mix, n) {
    const counts = coefficients(mix);
    scoreRows(this.table, counts, this.scores);
    const rows = bestRows(this.scores, n);
    const view = {
      ids: rows.map((row) => this.catalogue.ids[row]),
      names: rows.map((row) => this.catalogue.names[row]),
      parts: contributions(this.table, counts, rows),
      scores: rows.map((row) => this.scores[row]),
    };
    return { view, bands: bands(this.table, mix, rows.slice(0, TOP)) };
  }

  /**
   * @param {Mix} mix
   * @param {Id} item
   * @returns {Promise<Id[]>} What is before the item.
   */
  async ahead(mix, item) {
    scoreRows(this.table, coefficients(mix), this.scores);
    const row = this.catalogue.rows.get(String(item)) ?? 0;
    return rowsBefore(this.scores, row).map((other) => this.catalogue.ids[other]);
  }
}

/**
 * @param {ArrayBuffer} buffer
 * @returns {Float32Array}
 */
function littleEndian(buffer) {
  const values = new Float32Array(buffer);
  if (new Uint8Array(Uint16Array.of(1).buffer)[0] === 1) return values;
  const bytes = new DataView(buffer);
  return values.map((_, place) => bytes.getFloat32(4 * place, true));
}

/**
 * Ask the server for rows of a list.
 *
 * @param {Catalogue} catalogue
 * @param {Person} person
 * @param {Mix | "all"} by
 * @param {number | null} share
 * @param {number} n
 * @param {AbortSignal} [signal]
 * @returns {Promise<ServerRow[]>}
 */
export async function serverRows(catalogue, person, by, share, n, signal) {
  const mix = by === "all" ? by : mixOf(catalogue.model.aspects, by.weights);
  const options = { n, by: mix, preference: share, aspects: true };
  const { path, body } = listCall(person, options);
  const answer = await ask(path, { body, signal });
  if (answer.model !== catalogue.model.model) throw new OtherModel();
  return answer.lists[0].rows;
}

/**
 * Return what a server's rows show.
 *
 * @param {Catalogue} catalogue
 * @param {ServerRow[]} rows
 * @param {Mix | "all"} by
 * @returns {View}
 */
export function viewOf(catalogue, rows, by) {
  const { aspects } = catalogue.model;
  const width = aspects.length + 1;
  const ids = rows.map(({ item }) => item);
  const names = rows.map(({ item, name }) => name || String(item));
  const scores = rows.map(({ score }) => score);
  if (by === "all" || rows.some(({ contributions: parts }) => parts === null)) {
    return { ids, names, scores, parts: null };
  }
  // Without a share, the server does not divide by the sum of the weights.
  const unit = by.share === null ? sum(by.weights) : 1;
  const parts = new Float64Array(rows.length * width);
  rows.forEach((row, place) => {
    parts[place * width] = by.share === null ? 0 : (1 - by.share) * (row.exposure ?? 0);
    aspects.forEach((aspect, k) => {
      parts[place * width + k + 1] = (row.contributions?.[aspect] ?? 0) / unit;
    });
  });
  return { ids, names, scores, parts };
}

/**
 * Return what is before an item in the server's list.
 *
 * @param {Catalogue} catalogue
 * @param {Person} person
 * @param {Mix} mix
 * @param {Id} item
 * @returns {Promise<Id[]>}
 */
export async function serverAhead(catalogue, person, mix, item) {
  const rows = await serverRows(catalogue, person, mix, mix.share, DEEPEST);
  const ids = rows.map((row) => row.item);
  const place = ids.indexOf(item);
  return place < 0 ? ids : ids.slice(0, place);
}
