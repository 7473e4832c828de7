// What scrolls sideways on a small screen can be reached, and scrolled, with the keyboard as well.
"use strict";

function reachable() {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .cell_output")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

// A picture that is shown smaller than it is opens in full: what is written in it can be read.
function enlargeable() {
  for (const picture of document.querySelectorAll("article img")) {
    if (picture.closest("a") || picture.naturalWidth <= 1.2 * picture.clientWidth) continue;
    const link = document.createElement("a");
    link.href = picture.src;
    picture.replaceWith(link);
    link.append(picture);
  }
}

addEventListener("load", enlargeable);
addEventListener("DOMContentLoaded", reachable);
addEventListener("resize", reachable);
