// What scrolls sideways on a small screen can be reached, and scrolled, with the keyboard as well.
"use strict";

function reachable() {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .cell_output")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

addEventListener("DOMContentLoaded", reachable);
addEventListener("resize", reachable);
