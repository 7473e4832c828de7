import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bestRows,
  coefficients,
  contributions,
  rowsBefore,
  scoreRows,
} from "../../../../src/dmrank/service/page/scores.js";
import { randomTable, random } from "./drawn.mjs";

/** What the recipe of /v1/scores says, written down once more. */
function recipe(values, weights, share) {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const liked = weights.reduce((sum, weight, k) => sum + weight * values[k + 1], 0) / total;
  return share === null ? liked : (1 - share) * values[0] + share * liked;
}

for (const share of [null, 0, 0.3, 1]) {
  test(`scores are those of the recipe, with the share ${share}`, () => {
    const table = randomTable(40, 3);
    const weights = [0.2, 0, 0.7];
    const scores = new Float64Array(40);
    scoreRows(table, coefficients({ weights: Float64Array.from(weights), share }), scores);
    for (let row = 0; row < 40; row++) {
      const expected = recipe(table.values.subarray(4 * row, 4 * row + 4), weights, share);
      assert.ok(Math.abs(scores[row] - expected) < 1e-12);
    }
  });
}

test("without exposure, what stands in its column does not matter", () => {
  const table = { values: Float32Array.of(NaN, 2, 1), width: 3 };
  const scores = new Float64Array(1);
  scoreRows(table, coefficients({ weights: Float64Array.of(1, 1), share: null }), scores);
  assert.equal(scores[0], 1.5);
});

test("a mix without weights counts nothing", () => {
  assert.deepEqual([...coefficients({ weights: new Float64Array(2), share: 0.5 })], [0, 0, 0]);
});

test("the best rows are those of a full sort, equal ones by their row, without NaN", () => {
  for (let draw = 0; draw < 200; draw++) {
    // Few different values: many are equal.
    const values = [NaN, -1, 0, 0.5, 2];
    const scores = Float64Array.from({ length: 30 }, () => values[Math.floor(random() * 5)]);
    const sorted = [...scores.keys()]
      .filter((row) => !Number.isNaN(scores[row]))
      .sort((one, other) => scores[other] - scores[one] || one - other);
    for (const n of [1, 5, 30, 40]) assert.deepEqual(bestRows(scores, n), sorted.slice(0, n));
    const row = sorted[Math.floor(random() * sorted.length)];
    assert.deepEqual(rowsBefore(scores, row), sorted.slice(0, sorted.indexOf(row)));
  }
});

test("what the parts add is the score", () => {
  const table = randomTable(10, 4);
  const counts = coefficients({ weights: Float64Array.of(1, 0.5, 0, 0.1), share: 0.4 });
  const scores = new Float64Array(10);
  scoreRows(table, counts, scores);
  const rows = [3, 7];
  const parts = contributions(table, counts, rows);
  rows.forEach((row, place) => {
    const own = parts.subarray(5 * place, 5 * place + 5);
    assert.ok(Math.abs(own.reduce((sum, part) => sum + part, 0) - scores[row]) < 1e-12);
    assert.equal(own[3], 0);
  });
});
