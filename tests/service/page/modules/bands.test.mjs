import assert from "node:assert/strict";
import { test } from "node:test";
import { bands } from "../../../../src/dmrank/service/page/bands.js";
import { bestRows, coefficients, scoreRows } from "../../../../src/dmrank/service/page/scores.js";
import { random, randomTable } from "./drawn.mjs";

function top(table, mix) {
  const scores = new Float64Array(table.values.length / table.width);
  scoreRows(table, coefficients(mix), scores);
  return bestRows(scores, 5);
}

/** The mix with one slider at another place; the last slider is the share. */
function moved({ weights, share }, slider, to) {
  if (slider === weights.length) return { weights, share: to };
  const changed = weights.slice();
  changed[slider] = to;
  return { weights: changed, share };
}

for (const hasShare of [true, false]) {
  test(`a band ends exactly where the top five change, ${hasShare ? "with" : "without"} a share`, () => {
    let ends = 0;
    for (let draw = 0; draw < 100; draw++) {
      const table = randomTable(60, 3);
      table.values.fill(NaN, 0, 4);
      const weights = Float64Array.from({ length: 3 }, random);
      const mix = { weights, share: hasShare ? random() : null };
      const now = top(table, mix);
      const { low, high } = bands(table, mix, now);
      for (let slider = 0; slider < (hasShare ? 4 : 3); slider++) {
        const at = slider === 3 ? mix.share : weights[slider];
        assert.ok(0 <= low[slider] && low[slider] <= at && at <= high[slider] && high[slider] <= 1);
        const inside = (share) => low[slider] + share * (high[slider] - low[slider]);
        for (const share of [1e-6, 0.3, 0.7, 1 - 1e-6]) {
          assert.deepEqual(top(table, moved(mix, slider, inside(share))), now);
        }
        for (const [end, outside] of [
          [low[slider], low[slider] - 1e-6],
          [high[slider], high[slider] + 1e-6],
        ]) {
          if (end <= 1e-6 || end >= 1 - 1e-6) continue;
          ends += 1;
          assert.notDeepEqual(top(table, moved(mix, slider, outside)), now);
        }
      }
    }
    assert.ok(ends > 100);
  });
}

test("the only weight can go anywhere: it is the whole mix", () => {
  const table = randomTable(30, 2);
  const mix = { weights: Float64Array.of(0.5, 0), share: 0.4 };
  const { low, high } = bands(table, mix, top(table, mix));
  assert.ok(low[0] < 1e-9);
  assert.equal(high[0], 1);
});

test("an empty list leaves every slider free", () => {
  const table = { values: new Float32Array(6).fill(NaN), width: 3 };
  const { low, high } = bands(table, { weights: Float64Array.of(1, 1), share: null }, []);
  assert.deepEqual(
    [[...low], [...high]],
    [
      [0, 0, 0],
      [1, 1, 1],
    ],
  );
});
