/**
 * The mix of a state, and the other way round, in the terms of one model.
 *
 * @module
 */

import { sum } from "./scores.js";
import { mixOf } from "./state.js";
import { listed, percent, shown } from "./words.js";

/** @typedef {import("./catalogue.js").Model} Model */
/** @typedef {import("./scores.js").Mix} Mix */

/** What a list is ranked by that no mix makes. */
export const ALL_TOGETHER =
  "by all aspects together: how probably an item is liked better than any other on every aspect at " +
  "once. Move a slider to go back to a mix";

/**
 * Return the mix that a state asks for. Beside "all together", the sliders show all aspects alike.
 *
 * @param {Model} model
 * @param {import("./state.js").State} state
 * @returns {Mix}
 */
export function mixOfState(model, { by, preference }) {
  const named = by ?? { [model.primary_aspect]: 1 };
  const weight = (/** @type {string} */ aspect) => (named === "all" ? 1 : (named[aspect] ?? 0));
  return {
    weights: Float64Array.from(model.aspects, weight),
    share: model.preference === null ? null : (preference ?? model.preference),
  };
}

/**
 * Return weights in the same proportions, at the height where the sliders are.
 *
 * @param {Model} model
 * @param {Record<string, number>} found
 * @param {Float64Array} now
 * @returns {Record<string, number>}
 */
export function atHeightOf(model, found, now) {
  const weights = Float64Array.from(model.aspects, (aspect) => found[aspect] ?? 0);
  const factor = Math.min(sum(now) / sum(weights), 1 / Math.max(...weights));
  return mixOf(
    model.aspects,
    weights.map((weight) => weight * factor),
  );
}

/**
 * @param {Model} model
 * @param {Mix} mix
 * @returns {string}
 */
export function mixInWords(model, { weights, share }) {
  const total = sum(weights);
  if (total === 0) return "";
  const parts = model.aspects
    .map((aspect, k) => ({ aspect: shown(aspect), part: weights[k] / total }))
    .filter(({ part }) => part >= 0.005)
    .sort((one, other) => other.part - one.part)
    .map(({ aspect, part }) => (part > 0.995 ? aspect : `${percent(part)} ${aspect}`));
  const equal = parts.length > 1 && weights.every((weight) => weight === weights[0]);
  const by = equal ? "all aspects equally" : listed(parts);
  return share === null
    ? `by ${by}`
    : `by ${by}; ${percent(share)} liking, ${percent(1 - share)} who comes`;
}

/**
 * Say which weights went how far.
 *
 * @param {Model} model
 * @param {Float64Array} before
 * @param {Float64Array} after
 * @returns {string}
 */
export function changeInWords(model, before, after) {
  const [all, now] = [sum(before), sum(after)];
  const changes = model.aspects
    .map((aspect, k) => ({ aspect, from: before[k] / all, to: after[k] / now }))
    .filter(({ from, to }) => percent(from) !== percent(to))
    .sort((one, other) => Math.abs(other.to - other.from) - Math.abs(one.to - one.from))
    .slice(0, 3)
    .map(({ aspect, from, to }) => `${shown(aspect)} from ${percent(from)} to ${percent(to)}`);
  return changes.length > 0 ? listed(changes) : "less than one percent";
}
