/**
 * A rating of one aspect, given by radio buttons that look like stars.
 *
 * @module
 */

import { h } from "./dom.js";

/** With more steps than this, a number is asked for. */
const MOST_STARS = 10;

let made = 0;

/**
 * @param {string} label
 * @param {[number, number]} scale
 * @param {number | null} value
 * @param {(value: number | null) => void} onChange
 * @returns {HTMLElement}
 */
export function starField(label, scale, value, onChange) {
  const [low, high] = scale;
  const first = Math.ceil(low);
  const count = Math.floor(high) - first + 1;
  if (count > MOST_STARS || count < 2) return numberField(label, scale, value, onChange);
  const name = `stars-${made++}`;
  const choices = Array.from({ length: count }, (_, step) => {
    const stars = first + step;
    const input = h("input", { type: "radio", name, value: stars, "aria-label": `${stars}` });
    input.checked = stars === value;
    input.addEventListener("change", () => onChange(stars));
    return h(
      "label",
      { title: `${stars} of ${high}` },
      input,
      h("span", { "aria-hidden": "true" }, "★"),
    );
  });
  return h("fieldset", { class: "stars" }, h("legend", {}, label), ...choices);
}

/**
 * @param {string} label
 * @param {[number, number]} scale
 * @param {number | null} value
 * @param {(value: number | null) => void} onChange
 * @returns {HTMLElement}
 */
function numberField(label, [low, high], value, onChange) {
  const input = h("input", { type: "number", min: low, max: high, step: "any" });
  if (value !== null) input.value = String(value);
  input.addEventListener("change", () => {
    const given = input.valueAsNumber;
    onChange(Number.isNaN(given) ? null : Math.min(Math.max(given, low), high));
  });
  return h("label", { class: "stars number" }, `${label} (${low} to ${high})`, input);
}
