/**
 * How things are written for people.
 *
 * @module
 */

/**
 * @param {string} name Of a column or aspect.
 * @returns {string} `sleep_quality` as "sleep quality"; exposure in words.
 */
export function shown(name) {
  return name.replaceAll("_", " ");
}

/** What exposure is called on the page. */
export const EXPOSURE = "who comes";

/**
 * @param {number} share
 * @returns {string}
 */
export function percent(share) {
  return `${Math.round(share * 100)} %`;
}

/**
 * @param {string} sentence
 * @returns {string} The same, no line of which ends between a number and its percent sign.
 */
export function unbroken(sentence) {
  return sentence.replaceAll(" %", "\u00a0%");
}

/**
 * @param {number} value
 * @returns {string} With its sign, a true minus.
 */
export function signed(value) {
  const text = Math.abs(value).toFixed(2);
  return Number(text) === 0 ? "0.00" : `${value < 0 ? "−" : "+"}${text}`;
}

/**
 * @param {number | null | undefined} value
 * @returns {string}
 */
export function stars(value) {
  return value === null || value === undefined ? "–" : value.toFixed(1);
}

/**
 * @param {number} value
 * @returns {string}
 */
export function count(value) {
  return value.toLocaleString("en");
}

/**
 * @param {string[]} names
 * @returns {string} "A", "A and B", "A, B and C".
 */
export function listed(names) {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}
