// What search puts first: pages and calls whose name has every word that was asked for.
"use strict";

const asked = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/\s+/);

var Scorer = {
  score: ([page, title, anchor, , score]) => {
    const name = title.toLowerCase();
    let points = score;
    if (asked.every((word) => name.includes(word))) points += anchor ? 20 : 40;
    // Of calls with one name, that of every model; of pages, what is read before what was measured.
    if (title.startsWith("dmrank.Model.")) points += 5;
    if (page.startsWith("results/") || page === "benchmarks" || page === "project/changelog") points -= 5;
    return points;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
