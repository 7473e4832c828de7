/**
 * The page: what the address says is shown, and what a person does goes into the address.
 *
 * @module
 */

import { newest, oneAtATime, onKeyWanted, settled } from "./api.js";
import { Catalogue } from "./catalogue.js";
import { byId, h } from "./dom.js";
import { Dragging } from "./drag.js";
import { oncePerFrame } from "./frames.js";
import { askForKey } from "./key.js";
import { List, makeLegend } from "./list.js";
import { BrowserLists, IN_BROWSER, OtherModel, serverRows, viewOf } from "./lists.js";
import { ALL_TOGETHER, mixInWords, mixOfState } from "./mix.js";
import { Mover } from "./mover.js";
import { announce, clearProblem, showProblem } from "./notices.js";
import { Panel, withItem } from "./panel.js";
import { People, findUsers } from "./people.js";
import { isKnown } from "./person.js";
import { Sliders, makePresets } from "./sliders.js";
import { ROWS, formatState, mixOf, parseState } from "./state.js";
import { EXPOSURE, count, listed, shown } from "./words.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Id} Id */
/** @typedef {import("./person.js").Person} Person */

/** How long a slider has to rest before the server is asked for details, in milliseconds. */
const REST = 150;
/** @type {import("./list.js").View} */
const NOTHING = { ids: [], names: [], parts: null, scores: [] };
/** Rows whose order is read out. */
const READ_OUT = 5;

class App {
  /**
   * @param {Catalogue} catalogue
   * @param {string | null} firstUser Who is shown if nobody is asked for.
   */
  constructor(catalogue, firstUser) {
    this.catalogue = catalogue;
    this.firstUser = firstUser;
    const { model } = catalogue;
    const parts = {
      names: [EXPOSURE, ...model.aspects.map(shown)],
      colors: ["part-0", ...model.aspects.map((_, k) => `part-${(k % 8) + 1}`)],
      primary: model.primary_aspect,
    };
    this.state = parseState(location.hash);
    /** @type {BrowserLists | null} Null: lists come from the server. */
    this.lists = null;
    this.listed = "";
    this.readOut = "";
    this.pushes = false;
    this.glides = false;

    this.people = new People(
      catalogue,
      (user) => this.change({ user: String(user), ratings: null }, false),
      (ratings) => this.change({ ratings }, false),
    );
    this.sliders = new Sliders(
      { sliders: byId("sliders"), share: byId("share") },
      model.aspects,
      model.preference !== null,
      {
        onPreset: (by) => this.change({ by }),
        onStart: () => this.#startMovement(),
        onWeights: (weights) => this.#slide({ by: mixOf(model.aspects, weights) }),
        onShare: (share) => this.#slide({ preference: share }),
      },
    );
    this.list = new List(byId("list"), parts, (id) => this.#pick(withItem(this.#picked(), id)));
    this.showPreset = makePresets(byId("presets"), model, (by) => this.change({ by }));
    this.legend = makeLegend(byId("legend"), parts, (part) => this.#alignAt(part));
    this.panel = new Panel(catalogue, (picked) => this.#pick(picked));
    this.mover = new Mover(this);
    new Dragging(
      byId("list"),
      (from, to) => void this.mover.move(from, to),
      () => this.state.by !== "all",
    );

    this.draw = oncePerFrame(() => this.#draw());
    this.askServer = oneAtATime(() => this.#listOfServer());
    this.rest = settled(() => this.#atRest(), REST);
    this.details = newest(this.#details.bind(this), (error) => this.#fail(error));
    this.load = newest(this.#load.bind(this), (error) => {
      this.lists = null;
      this.#fill(NOTHING);
      this.#fail(error);
    });
    byId("rating-head").textContent = `predicted ${shown(model.primary_aspect)}`;
    this.#listen();
  }

  #listen() {
    addEventListener("popstate", () => this.show(parseState(location.hash)));
    byId("more").addEventListener("click", () => {
      this.change({ n: Math.min(this.state.n + ROWS.first, ROWS.most) });
    });
    byId("skip").addEventListener("click", (event) => {
      // The address is the state of the page.
      event.preventDefault();
      byId("list").focus();
    });
  }

  /** @returns {Person} */
  get person() {
    const { ratings, user } = this.state;
    if (ratings !== null) return { ratings };
    return { user: this.catalogue.userId(user ?? "") };
  }

  get mix() {
    return mixOfState(this.catalogue.model, this.state);
  }

  /** @returns {Id[]} */
  #picked() {
    return this.state.picked.map((text) => this.catalogue.itemId(text));
  }

  /**
   * Go to another state, one step of the back button away.
   *
   * @param {Partial<State>} changes
   * @param {boolean} [sameList] Whether it is shown how far rows move.
   */
  change(changes, sameList = true) {
    this.pushes = true;
    if (sameList) this.list.startMovement();
    else this.list.before = [];
    this.show({ ...this.state, ...changes });
    this.#keepAddress();
  }

  /**
   * Show a state.
   *
   * @param {State} state
   */
  show(state) {
    const nobody = state.user === null && state.ratings === null;
    this.state = nobody ? { ...state, user: this.firstUser } : state;
    this.glides = true;
    this.people.show(this.state);
    clearProblem(byId("move-answer"));
    const asked = JSON.stringify(this.person);
    if (asked !== this.listed) {
      this.listed = asked;
      void this.load();
    } else this.draw();
  }

  #startMovement() {
    this.pushes = true;
    this.list.startMovement();
    clearProblem(byId("move-answer"));
  }

  /** @param {Partial<State>} changes */
  #slide(changes) {
    this.state = { ...this.state, ...changes };
    this.draw();
  }

  /** @param {Id[]} picked */
  #pick(picked) {
    this.pushes = true;
    this.state = { ...this.state, picked: picked.map(String) };
    this.draw();
    this.#keepAddress();
  }

  /** @param {number} part */
  #alignAt(part) {
    const name = ["exposure", ...this.catalogue.model.aspects][part];
    this.pushes = true;
    this.state = { ...this.state, align: this.state.align === name ? null : name };
    this.draw();
    this.#keepAddress();
  }

  #keepAddress() {
    const address = formatState(this.state);
    if (address === location.hash) return;
    if (this.pushes) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    this.pushes = false;
  }

  /**
   * Fetch what the lists of a person are made of.
   *
   * @param {AbortSignal} signal
   */
  async #load(signal) {
    const { person } = this;
    if (!isKnown(person)) {
      this.lists = null;
      this.draw();
      return;
    }
    byId("list").setAttribute("aria-busy", "true");
    if (this.list.view.ids.length === 0) this.#sayInstead("The list is being made …");
    try {
      const inBrowser = this.catalogue.model.items <= IN_BROWSER;
      const lists = inBrowser ? await BrowserLists.load(this.catalogue, person, signal) : null;
      if (signal.aborted) return;
      this.lists = lists;
      this.draw();
    } finally {
      if (!signal.aborted) byId("list").removeAttribute("aria-busy");
    }
  }

  /** Draw the list, by the mix as it is at this moment. */
  #draw() {
    const { mix, state } = this;
    const all = state.by === "all";
    const empty = !all && mix.weights.every((weight) => weight === 0);
    this.#drawControls(all);
    if (!isKnown(this.person) || empty) {
      this.#drawNothing(empty);
      return;
    }
    if (all || this.lists === null) {
      this.sliders.show(mix, null, all);
      this.askServer();
    } else {
      const { view, bands } = this.lists.list(mix, state.n);
      this.sliders.show(mix, bands, false);
      this.#drawList(view);
    }
    this.rest();
  }

  /** @param {boolean} all */
  #drawControls(all) {
    const { mix, state } = this;
    const { model } = this.catalogue;
    this.showPreset(state.by ?? { [model.primary_aspect]: 1 });
    byId("mix-sentence").textContent = all ? ALL_TOGETHER : mixInWords(model, mix);
    const aligned = ["exposure", ...model.aspects].indexOf(state.align ?? "");
    this.list.aligned = aligned;
    this.legend(aligned, (part) => {
      if (part > 0) return mix.weights[part - 1] > 0;
      return mix.share === null ? null : mix.share < 1;
    });
    byId("legend").hidden = all;
    byId("band-hint").hidden = all || this.lists === null;
  }

  /** @param {boolean} empty Whether it is for want of a weight. */
  #drawNothing(empty) {
    this.sliders.show(this.mix, null, false);
    const text = empty
      ? "No aspect counts at present: move a slider up."
      : "Answer a question to get a list of your own.";
    this.#sayInstead(text);
    if (!empty) this.#fill(NOTHING);
    this.panel.show(this.person, isKnown(this.person) ? this.#picked() : [], this.state.by);
    this.rest();
  }

  /** @param {import("./list.js").View} view */
  #drawList(view) {
    clearProblem(byId("list-problem"));
    this.#fill(view);
    if (view.ids.length === 0) this.#sayInstead("There is nothing left to list for this person.");
  }

  /** @param {string} text */
  #sayInstead(text) {
    byId("list-problem").replaceChildren(h("p", { class: "empty", role: "status" }, text));
  }

  /** @param {import("./list.js").View} view */
  #fill(view) {
    this.list.render(view, this.#picked(), this.glides);
    this.glides = false;
    byId("more").hidden = view.ids.length < this.state.n || this.state.n >= ROWS.most;
  }

  async #listOfServer() {
    const { mix, person, state } = this;
    const by = state.by === "all" ? "all" : mix;
    try {
      const rows = await serverRows(this.catalogue, person, by, mix.share, state.n);
      // Not if the person has chosen somebody else, or to make lists in the browser, meanwhile.
      if (JSON.stringify(person) !== this.listed) return;
      if (this.lists !== null && this.state.by !== "all") return;
      this.#drawList(viewOf(this.catalogue, rows, by));
      this.#showDetails(rows);
      this.rest();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** What is done when nothing moves any more. */
  #atRest() {
    this.#keepAddress();
    const { ids, names } = this.list.view;
    if (ids.length === 0) return;
    this.panel.show(this.person, this.#picked(), this.state.by);
    if (this.lists !== null && this.state.by !== "all") void this.details();
    const order = names.slice(0, READ_OUT).map((name, place) => `${place + 1} ${name}`);
    const now = JSON.stringify(ids.slice(0, READ_OUT));
    if (now !== this.readOut) announce(`New order: ${listed(order)}.`);
    this.readOut = now;
  }

  /**
   * Ask for what a list of the browser's own does not know.
   *
   * @param {AbortSignal} signal
   */
  async #details(signal) {
    const { mix, person, state } = this;
    const rows = await serverRows(this.catalogue, person, mix, mix.share, state.n, signal);
    if (!signal.aborted) this.#showDetails(rows);
  }

  /** @param {import("./list.js").ServerRow[]} rows */
  #showDetails(rows) {
    this.list.showDetails(rows);
    this.panel.showRatings(new Map(rows.map((row) => [row.item, row.ratings])));
  }

  /** @param {unknown} error */
  #fail(error) {
    if (error instanceof OtherModel) location.reload();
    else showProblem(byId("list-problem"), error, () => void this.load());
  }
}

async function start() {
  clearProblem(byId("problem"));
  try {
    const catalogue = await Catalogue.load();
    const { model } = catalogue;
    byId("about").textContent =
      `${model.kind}: ${count(model.users)} users, ${count(model.items)} items, ` +
      `${count(model.aspects.length)} aspects`;
    const [user] = await findUsers("", 1);
    const app = new App(catalogue, user === undefined ? null : String(user));
    app.show(parseState(location.hash));
  } catch (error) {
    showProblem(byId("problem"), error, () => void start());
  }
}

onKeyWanted(askForKey);
void start();
