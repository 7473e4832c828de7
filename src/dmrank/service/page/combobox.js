/**
 * A field with suggestions, by keyboard and for screen readers as the ARIA practices have it.
 *
 * @module
 */

import { isAbort, newest } from "./api.js";
import { h } from "./dom.js";

/**
 * @template T
 * @typedef {{ value: T, label: string }} Choice
 */

/**
 * @template T
 * @typedef {object} ComboboxOptions
 * @property {string} id
 * @property {string} label
 * @property {string} placeholder
 * @property {(text: string, signal: AbortSignal) => Promise<Choice<T>[]>} search
 * @property {(value: T) => void} onChoose
 * @property {(error: unknown) => void} onProblem
 */

/** @template T */
export class Combobox {
  /** @param {ComboboxOptions<T>} options */
  constructor(options) {
    this.options = options;
    /** @type {Choice<T>[]} */
    this.choices = [];
    this.active = -1;
    this.input = h("input", {
      id: options.id,
      type: "text",
      role: "combobox",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: options.placeholder,
      "aria-expanded": "false",
      "aria-autocomplete": "list",
      "aria-controls": `${options.id}-choices`,
    });
    const list = { id: `${options.id}-choices`, role: "listbox", hidden: true };
    this.list = h("ul", { ...list, "aria-label": options.label });
    this.element = h(
      "div",
      { class: "combobox" },
      h("label", { for: options.id }, options.label),
      h("div", { class: "combobox-field" }, this.input, this.list),
    );
    this.find = newest(this.#find.bind(this), (error) => {
      if (!isAbort(error)) options.onProblem(error);
    });
    this.#listen();
  }

  #listen() {
    this.input.addEventListener("input", () => void this.find(this.input.value));
    this.input.addEventListener("focus", () => this.input.select());
    this.input.addEventListener("click", () => {
      // Letting the button of the mouse go takes back what was selected on focus.
      this.input.select();
      void this.find("");
    });
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("keydown", (event) => this.#onKey(event));
    // The field must not lose the focus before the click arrives.
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const option = /** @type {Element} */ (event.target).closest("[role=option]");
      if (option) this.#choose([...this.list.children].indexOf(option));
    });
  }

  /**
   * @param {AbortSignal} signal
   * @param {string} text
   */
  async #find(signal, text) {
    const choices = await this.options.search(text, signal);
    if (signal.aborted || document.activeElement !== this.input) return;
    this.choices = choices;
    this.list.replaceChildren(
      ...choices.map(({ label }, place) => {
        const id = `${this.options.id}-choice-${place}`;
        return h("li", { id, role: "option", "aria-selected": "false" }, label);
      }),
    );
    this.list.hidden = choices.length === 0;
    this.input.setAttribute("aria-expanded", String(choices.length > 0));
    this.#activate(text !== "" && choices.length > 0 ? 0 : -1);
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const open = !this.list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) void this.find("");
      else this.#activate(this.active + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && open) {
      event.preventDefault();
      this.#choose(Math.max(this.active, 0));
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      this.close();
    }
  }

  /** @param {number} place */
  #activate(place) {
    const options = [...this.list.children];
    this.active = options.length === 0 ? -1 : Math.min(Math.max(place, -1), options.length - 1);
    options.forEach((option, other) => {
      option.setAttribute("aria-selected", String(other === this.active));
    });
    const active = options[this.active];
    if (active) {
      this.input.setAttribute("aria-activedescendant", active.id);
      active.scrollIntoView({ block: "nearest" });
    } else this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {number} place */
  #choose(place) {
    const choice = this.choices[place];
    if (choice === undefined) return;
    this.close();
    this.input.value = choice.label;
    this.options.onChoose(choice.value);
  }
}
