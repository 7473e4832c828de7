/**
 * From "this item should be up there" to the nearest mix that puts it there.
 *
 * The server knows the mix nearest to the present one in which an item comes before given others.
 * On the way there, items that were below may pass it: they are asked for as well, until nothing
 * is ahead of the item but what may be.
 *
 * @module
 */

/** @typedef {import("./state.js").Id} Id */

/** How often the server is asked for one item at most. */
export const ROUNDS = 8;

/**
 * @typedef {object} Weighed Answer of POST /v1/weights.
 * @property {Record<string, number> | null} weights
 * @property {[Id, Id][]} prevented_by
 */

/**
 * @typedef {object} Wish
 * @property {Id} item
 * @property {Id[]} list The list as it is, at least down to the item.
 * @property {number} place Where the item should be, from 0.
 * @property {(orders: [Id, Id][]) => Promise<Weighed>} ask
 * @property {(weights: Record<string, number>) => Promise<Id[]>} ahead What is before the item by
 *   other weights.
 */

/**
 * Find the weights, or the items that prevent every mix.
 *
 * @param {Wish} wish
 * @returns {Promise<{ weights: Record<string, number> } | { prevented: Id[] }>}
 */
export async function promote({ item, list, place, ask, ahead }) {
  const orders = firstOrders(item, list, place);
  const above = new Set(list.slice(0, place));
  const asked = new Set(orders.map(([, behind]) => behind));
  /** @type {Id[]} */
  let left = [];
  for (let round = 0; round < ROUNDS; round++) {
    const answer = await ask(orders);
    if (answer.weights === null) return { prevented: others(answer.prevented_by, item) };
    const before = await ahead(answer.weights);
    left = before.filter((other) => !above.has(other) && !asked.has(other));
    if (before.length <= place || left.length === 0) return { weights: answer.weights };
    for (const other of left) {
      orders.push([item, other]);
      asked.add(other);
    }
  }
  return { prevented: left };
}

/**
 * Return the orders of a move: the item before all it passes, or, downwards, after them.
 *
 * @param {Id} item
 * @param {Id[]} list
 * @param {number} place
 * @returns {[Id, Id][]}
 */
export function firstOrders(item, list, place) {
  const now = list.indexOf(item);
  if (place > now) return list.slice(now + 1, place + 1).map((other) => [other, item]);
  return list.slice(place, now).map((other) => [item, other]);
}

/**
 * @param {[Id, Id][]} orders
 * @param {Id} item
 * @returns {Id[]} Every other item that the orders name, once.
 */
function others(orders, item) {
  return [...new Set(orders.flat())].filter((other) => other !== item);
}
