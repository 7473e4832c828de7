/**
 * Moving a row to another place: by mouse or finger at its handle, or by keyboard.
 *
 * Alt with an arrow key moves a row by one place. On the handle, space picks the row up, arrow keys
 * choose the place, space or enter drops it there, escape lets it be.
 *
 * @module
 */

import { announce } from "./notices.js";

/** @typedef {(from: number, to: number) => void} OnMove Places from 0. */

export class Dragging {
  /**
   * @param {HTMLElement} list
   * @param {OnMove} onMove
   * @param {() => boolean} allowed Whether rows can be moved at present.
   */
  constructor(list, onMove, allowed) {
    this.list = list;
    this.onMove = onMove;
    this.allowed = allowed;
    /** @type {{ from: number, to: number, row: HTMLElement, start: number } | null} */
    this.held = null;
    list.addEventListener("pointerdown", (event) => this.#onPress(event));
    list.addEventListener("pointermove", (event) => this.#onDrag(event));
    list.addEventListener("pointerup", () => this.drop());
    list.addEventListener("pointercancel", () => this.cancel());
    list.addEventListener("keydown", (event) => this.#onKey(event));
    list.addEventListener("focusout", () => this.#leave());
  }

  /** @param {PointerEvent} event */
  #onPress(event) {
    const handle = /** @type {Element} */ (event.target).closest(".handle");
    if (handle === null || event.button !== 0 || !this.allowed()) return;
    event.preventDefault();
    /** @type {HTMLElement} */ (handle).focus();
    this.list.setPointerCapture(event.pointerId);
    this.#take(rowOf(handle), event.clientY);
    this.byPointer = true;
  }

  /** @param {PointerEvent} event */
  #onDrag(event) {
    if (this.held === null || !this.byPointer) return;
    const { row, from, start } = this.held;
    const offset = event.clientY - start;
    row.style.transform = `translateY(${offset}px)`;
    this.#aim(from + Math.round(offset / row.offsetHeight));
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const target = /** @type {Element} */ (event.target);
    if (target.closest(".row") === null || !this.allowed()) return;
    const row = rowOf(target);
    const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    const onHandle = target.matches(".handle");
    if (step !== 0 && event.altKey && this.held === null) {
      this.#take(row, 0);
      this.#aim(placeOf(row) + step);
      this.drop();
    } else if (step !== 0 && this.held !== null) {
      this.#aim(this.held.to + step);
      announce(`Place ${this.held.to + 1}`);
    } else if (onHandle && (event.key === " " || event.key === "Enter")) {
      if (this.held === null) this.#pickUp(row);
      else this.drop();
    } else if (event.key === "Escape" && this.held !== null) {
      this.cancel();
      announce("Left where it was.");
    } else return;
    event.preventDefault();
  }

  /** @param {HTMLElement} row */
  #pickUp(row) {
    this.#take(row, 0);
    this.byPointer = false;
    announce("Picked up. Arrow keys choose the place, space drops it there, escape lets it be.");
  }

  /**
   * @param {HTMLElement} row
   * @param {number} start
   */
  #take(row, start) {
    this.cancel();
    const from = placeOf(row);
    this.held = { from, to: from, row, start };
    row.classList.add("held");
    this.list.classList.add("dragging");
  }

  /** @param {number} place */
  #aim(place) {
    if (this.held === null) return;
    this.held.to = Math.min(Math.max(place, 0), this.list.children.length - 1);
    const { from, to } = this.held;
    [...this.list.children].forEach((row, other) => {
      row.classList.toggle("drop-above", other === to && to < from);
      row.classList.toggle("drop-below", other === to && to > from);
    });
  }

  /** Move the row to where it is held. */
  drop() {
    const held = this.held;
    this.cancel();
    if (held !== null && held.to !== held.from) this.onMove(held.from, held.to);
  }

  cancel() {
    if (this.held === null) return;
    this.held.row.style.transform = "";
    this.held.row.classList.remove("held");
    this.list.classList.remove("dragging");
    for (const row of this.list.children) row.classList.remove("drop-above", "drop-below");
    this.held = null;
  }

  #leave() {
    if (this.held !== null && !this.byPointer) this.cancel();
  }
}

/**
 * @param {Element} element
 * @returns {HTMLElement}
 */
function rowOf(element) {
  return /** @type {HTMLElement} */ (element.closest(".row"));
}

/**
 * @param {HTMLElement} row
 * @returns {number}
 */
function placeOf(row) {
  return Number(row.dataset.place);
}
