/**
 * How far each slider can go, all others held, before the top of the list changes.
 *
 * Times Σw, the score of a row is linear in each single weight,
 *
 *     f = (1 − t) x₀ Σ_k w_k + t Σ_k w_k x_k ,   ∂f/∂w_k = (1 − t) x₀ + t x_k ,
 *
 * and the score itself is linear in t, so that "A stays before B" is a half line for each slider.
 * The top stays the same on the intersection of all: each row of the top before the next one, and
 * the last before every row that is not of the top.
 *
 * @module
 */

import { sum } from "./scores.js";

/**
 * @typedef {object} Bands
 * @property {Float64Array} low One per aspect, the last of the share.
 * @property {Float64Array} high
 */

/**
 * Return the interval of every slider, within 0 to 1.
 *
 * @param {import("./scores.js").Table} table
 * @param {import("./scores.js").Mix} mix
 * @param {number[]} top The first rows of the list by this mix, the best first.
 * @returns {Bands}
 */
export function bands(table, mix, top) {
  const found = new Intervals(table, mix);
  for (let place = 1; place < top.length; place++) {
    found.keepBefore(top[place - 1], top[place], top[place] + 1);
  }
  let start = 0;
  for (const row of top.toSorted((one, other) => one - other)) {
    found.keepBefore(top[top.length - 1], start, row);
    start = row + 1;
  }
  if (top.length > 0)
    found.keepBefore(top[top.length - 1], start, table.values.length / table.width);
  return { low: found.low, high: found.high };
}

class Intervals {
  /**
   * @param {import("./scores.js").Table} table
   * @param {import("./scores.js").Mix} mix
   */
  constructor(table, { weights, share }) {
    this.table = table;
    this.weights = weights;
    this.hasShare = share !== null;
    this.share = share ?? 1;
    this.total = sum(weights);
    this.low = new Float64Array(weights.length + 1);
    this.high = new Float64Array(weights.length + 1).fill(1);
  }

  /**
   * Narrow the intervals to where a row stays before each of some others.
   *
   * @param {number} row
   * @param {number} first The first of the others.
   * @param {number} end The row behind the last of them.
   */
  keepBefore(row, first, end) {
    const { hasShare, share: t, total, weights } = this;
    const { values, width } = this.table;
    const K = weights.length;
    const own = row * width;
    for (let start = first * width; start < end * width; start += width) {
      // Differences of x₀, of Σ w x, and of Σw times the score.
      const exposure = hasShare ? values[own] - values[start] : 0;
      let liked = 0;
      for (let k = 1; k <= K; k++) liked += weights[k - 1] * (values[own + k] - values[start + k]);
      const difference = (1 - t) * total * exposure + t * liked;
      if (Number.isNaN(difference)) continue;
      // Equal scores may round to less than nothing.
      const ahead = Math.max(difference, 0);
      for (let k = 0; k < K; k++) {
        const slope = (1 - t) * exposure + t * (values[own + k + 1] - values[start + k + 1]);
        this.#narrow(k, weights[k], ahead, slope);
      }
      if (hasShare) this.#narrow(K, t, ahead, liked - total * exposure);
    }
  }

  /**
   * @param {number} slider
   * @param {number} at Where it is.
   * @param {number} ahead How far the row is ahead there.
   * @param {number} slope By how much more, per step of the slider.
   */
  #narrow(slider, at, ahead, slope) {
    // They are level at w − ahead / slope; most rows are too far behind to matter.
    if (slope > 0) {
      if (ahead < slope * (at - this.low[slider])) this.low[slider] = at - ahead / slope;
    } else if (ahead < -slope * (this.high[slider] - at)) this.high[slider] = at - ahead / slope;
  }
}
