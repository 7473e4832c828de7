/**
 * Choosing the person a list is for: a user by name, or "I am new here".
 *
 * @module
 */

import { ask } from "./api.js";
import { Combobox } from "./combobox.js";
import { byId } from "./dom.js";
import { showProblem } from "./notices.js";
import { Questions } from "./questions.js";

/** @typedef {import("./state.js").Id} Id */
/** @typedef {import("./state.js").Rating} Rating */

/** Suggestions for the beginning of a user's id. */
const SUGGESTIONS = 20;

/**
 * @param {string} prefix
 * @param {number} n
 * @param {AbortSignal} [signal]
 * @returns {Promise<Id[]>}
 */
export async function findUsers(prefix, n, signal) {
  const query = /** @type {[string, Id][]} */ ([
    ["prefix", prefix],
    ["n", n],
  ]);
  return (await ask("/v1/users", { query, signal })).users;
}

export class People {
  /**
   * @param {import("./catalogue.js").Catalogue} catalogue
   * @param {(user: Id) => void} onUser
   * @param {(ratings: Rating[] | null) => void} onRatings Null: not a newcomer any more.
   */
  constructor(catalogue, onUser, onRatings) {
    const problem = byId("problem");
    /** @type {Combobox<Id>} */
    this.field = new Combobox({
      id: "user",
      label: "User",
      placeholder: "type an id",
      search: async (text, signal) => {
        const users = await findUsers(text, SUGGESTIONS, signal);
        return users.map((user) => ({ value: user, label: String(user) }));
      },
      onChoose: onUser,
      onProblem: (error) => showProblem(problem, error),
    });
    byId("person-field").replaceChildren(this.field.element);
    this.questions = new Questions(byId("questions"), catalogue, onRatings);
    this.newcomer = /** @type {HTMLButtonElement} */ (byId("newcomer"));
    this.newcomer.hidden = !catalogue.model.can.fold_in;
    this.newcomer.addEventListener("click", () => {
      onRatings(this.newcomer.getAttribute("aria-pressed") === "true" ? null : []);
    });
  }

  /**
   * @param {import("./state.js").State} state
   */
  show({ user, ratings }) {
    this.newcomer.setAttribute("aria-pressed", String(ratings !== null));
    if (ratings === null) this.questions.hide();
    else void this.questions.show(ratings);
    this.field.input.value = ratings === null ? (user ?? "") : "";
  }
}
