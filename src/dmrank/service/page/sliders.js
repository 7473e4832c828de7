/**
 * A slider per aspect, one for the share of preference, and presets.
 *
 * @module
 */

import { h, setAttribute, setText } from "./dom.js";
import { percent, shown } from "./words.js";

/**
 * @typedef {object} SliderEvents
 * @property {(weights: Float64Array) => void} onWeights While a slider moves.
 * @property {(share: number) => void} onShare
 * @property {() => void} onStart Before the first change of a movement.
 * @property {(by: import("./state.js").State["by"]) => void} onPreset
 */

/** Every slider goes from 0 to 1. */
class Slider {
  /**
   * @param {string} label
   * @param {string} color Class of its colour.
   * @param {{ ends?: string[], only?: () => void }} more What its ends mean, if that has to be
   *   said; what the button beside it does.
   */
  constructor(label, color, { ends = [], only }) {
    const id = `slider-${label.replaceAll(/\W+/g, "-")}-${color}`;
    this.input = h("input", { type: "range", id, min: 0, max: 1, step: "any" });
    this.band = h("div", { class: "band" });
    this.value = h("output", { for: id });
    const alone = only && h("button", { type: "button", class: "only quiet", click: only }, "only");
    alone?.setAttribute("aria-label", `Only ${label}`);
    const about = h("div", { class: "ends", "aria-hidden": "true" });
    about.append(...ends.map((end) => h("span", {}, end)));
    this.element = h(
      "div",
      { class: `slider ${color}` },
      h("label", { for: id }, h("span", { class: "swatch" }), label),
      alone ?? null,
      this.value,
      h("div", { class: "track" }, this.band, this.input),
      ends.length > 0 ? about : null,
    );
  }

  /**
   * @param {number} at
   * @param {string} value What is written beside it.
   */
  set(at, value) {
    if (Number(this.input.value) !== at) this.input.value = String(at);
    setText(this.value, value);
  }

  /**
   * @param {number} low
   * @param {number} high
   */
  setBand(low, high) {
    this.band.style.left = `${low * 100}%`;
    this.band.style.width = `${(high - low) * 100}%`;
    this.band.hidden = false;
    const said = `${this.value.textContent}; the top five stay from ${percent(low)} to ${percent(high)}`;
    setAttribute(this.input, "aria-valuetext", said);
  }

  hideBand() {
    this.band.hidden = true;
    setAttribute(this.input, "aria-valuetext", this.value.textContent ?? "");
  }
}

export class Sliders {
  /**
   * @param {{ sliders: HTMLElement, share: HTMLElement }} places
   * @param {string[]} aspects
   * @param {boolean} hasShare
   * @param {SliderEvents} events
   */
  constructor(places, aspects, hasShare, events) {
    this.events = events;
    /** @type {Float64Array} */
    this.weights = new Float64Array(aspects.length);
    this.aspects = aspects.map((aspect, k) => {
      const only = () => events.onPreset({ [aspect]: 1 });
      return new Slider(shown(aspect), `part-${(k % 8) + 1}`, { only });
    });
    this.aspects.forEach((slider, k) => {
      slider.input.addEventListener("input", () => this.#moved(k));
    });
    places.sliders.replaceChildren(...this.aspects.map((slider) => slider.element));
    this.share = hasShare
      ? new Slider("Coming or liking?", "part-share", {
          ends: ["what I would come to", "what I would like"],
        })
      : null;
    this.share?.input.addEventListener("input", () => this.#shareMoved());
    places.share.replaceChildren(...(this.share ? [this.share.element] : []));
    this.#listenForStarts();
  }

  /** A movement begins with the first input after the last one was let go. */
  #listenForStarts() {
    this.moving = false;
    for (const slider of [...this.aspects, ...(this.share ? [this.share] : [])]) {
      slider.input.addEventListener("change", () => {
        this.moving = false;
      });
    }
  }

  #start() {
    if (!this.moving) this.events.onStart();
    this.moving = true;
  }

  /** @param {number} k */
  #moved(k) {
    this.#start();
    const weights = this.weights.slice();
    weights[k] = Number(this.aspects[k].input.value);
    this.events.onWeights(weights);
  }

  #shareMoved() {
    this.#start();
    this.events.onShare(Number(this.share?.input.value));
  }

  /**
   * Show a mix.
   *
   * @param {import("./scores.js").Mix} mix
   * @param {import("./bands.js").Bands | null} bands Null: they are not known.
   * @param {boolean} off Whether the weights do not count at present.
   */
  show({ weights, share }, bands, off) {
    this.weights = weights;
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    this.aspects.forEach((slider, k) => {
      slider.set(weights[k], off ? "" : total > 0 ? percent(weights[k] / total) : percent(0));
      slider.element.classList.toggle("off", off);
      if (bands) slider.setBand(bands.low[k], bands.high[k]);
      else slider.hideBand();
    });
    if (this.share === null || share === null) return;
    this.share.set(share, `${percent(share)} liking`);
    const last = weights.length;
    if (bands) this.share.setBand(bands.low[last], bands.high[last]);
    else this.share.hideBand();
  }
}

/**
 * @typedef {object} Preset
 * @property {string} label
 * @property {import("./state.js").State["by"]} by
 */

/**
 * Return the mixes that one can start from, beside single aspects.
 *
 * @param {string[]} aspects
 * @param {string} primary
 * @returns {Preset[]}
 */
function presets(aspects, primary) {
  const equally = Object.fromEntries(aspects.map((aspect) => [aspect, 1]));
  const alone = { label: shown(primary), by: { [primary]: 1 } };
  if (aspects.length === 1) return [alone];
  // The service takes "all" for the aspect, where one is called so.
  if (aspects.includes("all")) return [alone, { label: "everything equally", by: equally }];
  return [
    alone,
    { label: "everything equally", by: equally },
    { label: "all together", by: "all" },
  ];
}

/**
 * @param {HTMLElement} place
 * @param {import("./catalogue.js").Model} model
 * @param {(by: Preset["by"]) => void} onChoose
 * @returns {(by: Preset["by"]) => void} Shows which preset a mix is, if it is one.
 */
export function makePresets(place, model, onChoose) {
  const made = presets(model.aspects, model.primary_aspect).map(({ label, by }) => {
    const button = h(
      "button",
      { type: "button", class: "preset", click: () => onChoose(by) },
      label,
    );
    return { button, by: JSON.stringify(by) };
  });
  place.replaceChildren(...made.map(({ button }) => button));
  return (now) => {
    for (const { button, by } of made) {
      button.setAttribute("aria-pressed", String(by === JSON.stringify(now)));
    }
  };
}
