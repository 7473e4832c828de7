/**
 * Where the segments of stacked bars begin and end, and which rows are bracketed.
 *
 * Contributions may be negative: positive ones are stacked to the right of zero, negative ones to
 * the left. To align the rows at a part is to put it next to zero in every row.
 *
 * @module
 */

/** Between these probabilities of being liked better, two rows cannot be told apart. */
export const ALIKE = [0.4, 0.6];

/** From one scale of the bars to the next. */
const STEP = 1.1;

/**
 * Return the left and right end of each part, in the unit of the parts.
 *
 * @param {Float64Array} parts
 * @param {number} aligned The part that is next to zero; −1: the first.
 * @returns {Float64Array} Left and right end of the first part, then of the second, …
 */
export function stack(parts, aligned) {
  const ends = new Float64Array(parts.length * 2);
  let left = 0;
  let right = 0;
  /** @param {number} part */
  const put = (part) => {
    const size = parts[part];
    if (size < 0) {
      ends[2 * part + 1] = left;
      left += size;
      ends[2 * part] = left;
    } else {
      ends[2 * part] = right;
      right += size;
      ends[2 * part + 1] = right;
    }
  };
  if (aligned >= 0) put(aligned);
  for (let part = 0; part < parts.length; part++) if (part !== aligned) put(part);
  return ends;
}

/**
 * Return how far the bars of all rows reach to the left and to the right.
 *
 * @param {Float64Array} parts Of all rows, one after the other.
 * @param {number} width Number of parts of a row.
 * @returns {{ left: number, right: number }} Both at least 0.
 */
export function reach(parts, width) {
  let left = 0;
  let right = 0;
  for (let start = 0; start < parts.length; start += width) {
    let below = 0;
    let above = 0;
    for (let part = start; part < start + width; part++) {
      if (parts[part] < 0) below -= parts[part];
      else above += parts[part];
    }
    left = Math.max(left, below);
    right = Math.max(right, above);
  }
  return { left, right };
}

/**
 * Round up to a step, so that the scale of the bars stays while a slider moves a little.
 *
 * @param {number} size
 * @returns {number}
 */
export function roundUp(size) {
  if (!(size > 0)) return 0;
  return STEP ** Math.ceil(Math.log(size) / Math.log(STEP) - 1e-9);
}

/**
 * Return of each row where it is in a bracket of rows that cannot be told apart.
 *
 * @param {(number | null)[]} better Probability of being liked better than the next row.
 * @returns {("" | "start" | "middle" | "end")[]}
 */
export function brackets(better) {
  const alike = better.map((p) => p !== null && p >= ALIKE[0] && p <= ALIKE[1]);
  alike[alike.length - 1] = false;
  return alike.map((below, row) => {
    const above = row > 0 && alike[row - 1];
    if (above) return below ? "middle" : "end";
    return below ? "start" : "";
  });
}
