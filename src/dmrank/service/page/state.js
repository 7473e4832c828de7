/**
 * What the page shows, as the part of the address after the #.
 *
 * That part is never sent to a server: what a newcomer says stays on their machine.
 *
 * @module
 */

/** @typedef {string | number} Id */
/** @typedef {{ item: Id } & Record<string, Id>} Rating */

/**
 * @typedef {object} State
 * @property {string | null} user
 * @property {Rating[] | null} ratings What a newcomer has said; null: a user is chosen.
 * @property {"all" | Record<string, number> | null} by Null: the primary aspect.
 * @property {number | null} preference Null: what the model takes by default.
 * @property {string | null} align The part at which bars are aligned.
 * @property {string[]} picked At most two items.
 * @property {number} n Rows that are shown.
 */

/** Rows that are shown at first, and at most. */
export const ROWS = { first: 20, most: 100 };

/** @type {Readonly<State>} */
export const EMPTY = Object.freeze({
  user: null,
  ratings: null,
  by: null,
  preference: null,
  align: null,
  picked: [],
  n: ROWS.first,
});

/**
 * Read a state; what cannot be read is as if it were not there.
 *
 * @param {string} hash
 * @returns {State}
 */
export function parseState(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    user: fields.get("user"),
    ratings: parseRatings(fields.get("ratings")),
    by: parseMix(fields.getAll("by")),
    preference: fraction(fields.get("preference")),
    align: fields.get("align"),
    picked: fields.getAll("item").slice(0, 2),
    n: Math.min(Math.max(Math.round(Number(fields.get("n"))) || ROWS.first, 1), ROWS.most),
  };
}

/**
 * @param {State} state
 * @returns {string} With its #.
 */
export function formatState(state) {
  const fields = new URLSearchParams();
  if (state.ratings !== null) fields.set("ratings", JSON.stringify(state.ratings));
  else if (state.user !== null) fields.set("user", state.user);
  for (const part of mixParts(state.by)) fields.append("by", part);
  if (state.preference !== null) fields.set("preference", String(state.preference));
  if (state.align !== null) fields.set("align", state.align);
  for (const item of state.picked) fields.append("item", item);
  if (state.n !== ROWS.first) fields.set("n", String(state.n));
  return `#${fields}`;
}

/**
 * Return the weights that are above zero, rounded finer than any order depends on.
 *
 * @param {readonly string[]} aspects
 * @param {Float64Array} weights
 * @returns {Record<string, number>}
 */
export function mixOf(aspects, weights) {
  const named = aspects.map((aspect, k) => [aspect, Number(weights[k].toFixed(7))]);
  return Object.fromEntries(named.filter(([, weight]) => Number(weight) > 0));
}

/**
 * @param {State["by"]} by
 * @returns {string[]} As the query parameters of lists are written: `service=0.5`.
 */
function mixParts(by) {
  if (by === null) return [];
  if (by === "all") return ["all"];
  const parts = Object.entries(by).map(([aspect, weight]) => `${aspect}=${weight}`);
  return parts.length > 0 ? parts : ["none"];
}

/**
 * @param {string[]} parts
 * @returns {State["by"]}
 */
function parseMix(parts) {
  if (parts.length === 0) return null;
  if (parts.includes("all")) return "all";
  /** @type {Record<string, number>} */
  const mix = Object.create(null);
  for (const part of parts) {
    const end = part.lastIndexOf("=");
    const weight = fraction(part.slice(end + 1));
    if (end > 0 && weight !== null && weight > 0) mix[part.slice(0, end)] = weight;
  }
  return { ...mix };
}

/**
 * @param {string | null} text
 * @returns {Rating[] | null}
 */
function parseRatings(text) {
  if (text === null) return null;
  try {
    const ratings = JSON.parse(text);
    if (!Array.isArray(ratings)) return [];
    return ratings.filter((rating) => rating !== null && Object.hasOwn(Object(rating), "item"));
  } catch {
    return [];
  }
}

/**
 * @param {string | null} text
 * @returns {number | null} From 0 to 1, if it is such a number.
 */
function fraction(text) {
  const value = text === null || text.trim() === "" ? NaN : Number(text);
  return value >= 0 && value <= 1 ? value : null;
}
