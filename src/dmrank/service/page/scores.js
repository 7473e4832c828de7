/**
 * List scores of a mix, and the best rows by them.
 *
 * What the server sends for a user is one row per item: exposure x₀ (who comes), then how the item
 * is liked on each aspect, x₁ … x_K. A list by the weights w and the share t is ranked by
 *
 *     (1 − t) x₀ + t Σ_k w_k x_k / Σ_k w_k        (t = 1 and no exposure if the model has no share)
 *
 * Equal scores are in the order of the rows; a row of NaN is never listed.
 *
 * @module
 */

/**
 * @typedef {object} Table What a user's lists are made of.
 * @property {Float32Array} values Rows of exposure and aspects, one after the other.
 * @property {number} width 1 + number of aspects.
 */

/**
 * @typedef {object} Mix
 * @property {Float64Array} weights One per aspect, none negative.
 * @property {number | null} share Share t of preference; null: the model has none.
 */

/** @typedef {Float32Array | Float64Array} Scores */

/**
 * @param {Float64Array} weights
 * @returns {number}
 */
export function sum(weights) {
  let total = 0;
  for (const weight of weights) total += weight;
  return total;
}

/**
 * Return what each column counts in the score of a row; all zero if no aspect has a weight.
 *
 * @param {Mix} mix
 * @returns {Float64Array}
 */
export function coefficients({ weights, share }) {
  const total = sum(weights);
  const found = new Float64Array(weights.length + 1);
  if (total === 0) return found;
  const t = share ?? 1;
  found[0] = 1 - t;
  for (let k = 0; k < weights.length; k++) found[k + 1] = (t * weights[k]) / total;
  return found;
}

/**
 * Write the score of every row into `scores`.
 *
 * @param {Table} table
 * @param {Float64Array} counts Of `coefficients`.
 * @param {Scores} scores One per row.
 */
export function scoreRows({ values, width }, counts, scores) {
  // A column that does not count is skipped: exposure may be NaN where there is none.
  const used = Int32Array.from(counts.keys()).filter((column) => counts[column] !== 0);
  const factors = Float64Array.from(used, (column) => counts[column]);
  for (let row = 0, start = 0; row < scores.length; row++, start += width) {
    let score = 0;
    for (let n = 0; n < used.length; n++) score += factors[n] * values[start + used[n]];
    scores[row] = score;
  }
}

/**
 * Return the rows with the `n` highest scores, the best first, in one pass.
 *
 * @param {Scores} scores
 * @param {number} n
 * @returns {number[]}
 */
export function bestRows(scores, n) {
  /** @type {number[]} */
  const best = [];
  let least = -Infinity;
  for (let row = 0; row < scores.length; row++) {
    const score = scores[row];
    // Later rows have to be strictly better, which also keeps out NaN.
    if (best.length === n ? !(score > least) : Number.isNaN(score)) continue;
    if (best.length === n) best.pop();
    let place = best.length;
    while (place > 0 && scores[best[place - 1]] < score) place--;
    best.splice(place, 0, row);
    least = scores[best[best.length - 1]];
  }
  return best;
}

/**
 * Return the rows that are before `row` in the whole list.
 *
 * @param {Scores} scores
 * @param {number} row
 * @returns {number[]}
 */
export function rowsBefore(scores, row) {
  const found = [];
  for (let other = 0; other < scores.length; other++) {
    if (scores[other] > scores[row] || (scores[other] === scores[row] && other < row)) {
      found.push(other);
    }
  }
  return found.sort((one, other) => scores[other] - scores[one] || one - other);
}

/**
 * Return what each column adds to the score of some rows, row by row.
 *
 * @param {Table} table
 * @param {Float64Array} counts Of `coefficients`.
 * @param {number[]} rows
 * @returns {Float64Array}
 */
export function contributions({ values, width }, counts, rows) {
  const parts = new Float64Array(rows.length * width);
  rows.forEach((row, place) => {
    for (let column = 0; column < width; column++) {
      if (counts[column] === 0) continue;
      parts[place * width + column] = counts[column] * values[row * width + column];
    }
  });
  return parts;
}
