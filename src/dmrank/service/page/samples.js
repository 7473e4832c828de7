/**
 * Examples of calls that work on this server: with a user, items and aspects of its own model.
 *
 * @module
 */

import { ask } from "./api.js";
import { exampleOf, fieldsOf, resolve } from "./schemas.js";

/** @typedef {import("./schemas.js").Schema} Schema */
/** @typedef {Record<string, any>} Samples Values by the name of a parameter or field. */

/**
 * Ask the server for something to give as an example; without a key there may be nothing.
 *
 * @returns {Promise<Samples>}
 */
export async function loadSamples() {
  try {
    const [model, { users }, { questions }] = await Promise.all([
      ask("/v1/model"),
      ask("/v1/users", { query: [["n", 1]] }),
      ask("/v1/questions", { query: [["n", 2]] }),
    ]);
    const [user] = users;
    const [first, second] = questions.map((/** @type {{ item: unknown }} */ { item }) => item);
    const primary = model.primary_aspect;
    const rating = { item: first, [primary]: model.scale[primary][1] };
    return {
      user,
      users: [user],
      item: first,
      first,
      second,
      orders: [[first, second]],
      by: primary,
      ratings: [rating],
      "/v1/complete": { ratings: [{ user, ...rating }] },
    };
  } catch {
    return {};
  }
}

/**
 * Return the query of an example: what is needed, a mix, or else the first that there is.
 *
 * @param {Schema} document
 * @param {Schema[]} parameters
 * @param {Samples} samples
 * @returns {string} With its question mark, if it has one.
 */
export function exampleQuery(document, parameters, samples) {
  const known = parameters.map((given) => resolve(document, given));
  const inQuery = known.filter((parameter) => parameter.in === "query");
  const wanted = inQuery.filter(
    ({ name, required }) => required || (name === "by" && "by" in samples),
  );
  const other = inQuery.find(({ name }) => name in samples);
  const needed = wanted.some(({ required }) => required);
  const fields = new URLSearchParams();
  for (const { name, schema } of needed || !other ? wanted : [other]) {
    fields.append(name, String([samples[name] ?? exampleOf(document, schema)].flat()[0]));
  }
  return fields.size > 0 ? `?${fields}` : "";
}

/**
 * Return the body of an example: every field that there is a sample of, and what else is needed.
 *
 * @param {Schema} document
 * @param {string} path
 * @param {Schema} schema
 * @param {Samples} samples
 * @returns {unknown}
 */
export function exampleBody(document, path, schema, samples) {
  if (path in samples) return samples[path];
  const fields = fieldsOf(document, schema);
  const hasUser = fields.some(([name]) => name === "user");
  const shown = fields.filter(([name, , needed]) => {
    // Either a user or the ratings of somebody who is none.
    return needed || (name in samples && !(hasUser && name === "ratings"));
  });
  return Object.fromEntries(
    shown.map(([name, field]) => [name, samples[name] ?? exampleOf(document, field)]),
  );
}
