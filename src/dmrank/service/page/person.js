/**
 * The person a list is for: a user whom the model knows, or a newcomer with some ratings.
 *
 * @module
 */

/** @typedef {import("./state.js").Id} Id */
/** @typedef {{ user: Id } | { ratings: import("./state.js").Rating[] }} Person */

/**
 * @param {Person} person
 * @returns {boolean} Whether there is anything to make a list of.
 */
export function isKnown(person) {
  return "user" in person || person.ratings.length > 0;
}

/**
 * Return how a list is asked for.
 *
 * @param {Person} person
 * @param {object} options
 * @returns {{ path: string, body: object }}
 */
export function listCall(person, options) {
  if ("user" in person)
    return { path: "/v1/recommend", body: { users: [person.user], ...options } };
  return { path: "/v1/recommend/new", body: { ratings: person.ratings, ...options } };
}

/**
 * Return how the scores are asked for.
 *
 * @param {Person} person
 * @returns {{ query?: [string, Id][], body?: object }}
 */
export function scoresCall(person) {
  if ("user" in person) return { query: [["user", person.user]] };
  return { body: { ratings: person.ratings } };
}
