/**
 * The dialog that asks for a key, when the service wants one.
 *
 * @module
 */

import { byId } from "./dom.js";

/**
 * @param {boolean} wrong Whether a key was refused before.
 * @returns {Promise<string>}
 */
export function askForKey(wrong) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("key-dialog"));
  const field = /** @type {HTMLInputElement} */ (byId("key-field"));
  byId("key-wrong").hidden = !wrong;
  field.value = "";
  dialog.showModal();
  return new Promise((resolve) => {
    const form = /** @type {HTMLFormElement} */ (byId("key-form"));
    // Not closed by Escape: without a key there is nothing to show behind it.
    dialog.oncancel = (event) => event.preventDefault();
    form.onsubmit = (event) => {
      // The policy of the page forbids forms to be sent anywhere.
      event.preventDefault();
      if (field.value.trim() === "") return;
      dialog.close();
      resolve(field.value.trim());
    };
  });
}
