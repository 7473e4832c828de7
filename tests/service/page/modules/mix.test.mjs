import assert from "node:assert/strict";
import { test } from "node:test";
import {
  atHeightOf,
  changeInWords,
  mixInWords,
  mixOfState,
} from "../../../../src/dmrank/service/page/mix.js";
import { EMPTY } from "../../../../src/dmrank/service/page/state.js";

const model = { aspects: ["overall", "sleep_quality"], primary_aspect: "overall", preference: 0.3 };
const mix = (...weights) => ({ weights: Float64Array.from(weights), share: null });

test("without a mix, the primary aspect and the model's own share count", () => {
  const { weights, share } = mixOfState(model, EMPTY);
  assert.deepEqual([[...weights], share], [[1, 0], 0.3]);
});

test("a model without stages has no share, whatever the address says", () => {
  const state = { ...EMPTY, preference: 0.5 };
  assert.equal(mixOfState({ ...model, preference: null }, state).share, null);
});

test("an aspect that the model does not have counts nothing", () => {
  const { weights } = mixOfState(model, { ...EMPTY, by: { taste: 1, sleep_quality: 0.5 } });
  assert.deepEqual([...weights], [0, 0.5]);
});

test("weights that were found keep the height of the sliders, as far as they reach", () => {
  const found = { overall: 0.25, sleep_quality: 0.75 };
  assert.deepEqual(atHeightOf(model, found, Float64Array.of(0.4, 0)), {
    overall: 0.1,
    sleep_quality: 0.3,
  });
  assert.deepEqual(atHeightOf(model, found, Float64Array.of(1, 1)), {
    overall: 0.3333333,
    sleep_quality: 1,
  });
});

test("a mix is said in words", () => {
  assert.equal(mixInWords(model, mix(1, 0)), "by overall");
  assert.equal(mixInWords(model, mix(0.5, 0.5)), "by all aspects equally");
  assert.equal(mixInWords(model, mix(0.2, 0.6)), "by 75 % sleep quality and 25 % overall");
  assert.equal(mixInWords(model, mix(0, 0)), "");
  assert.equal(
    mixInWords(model, { ...mix(1, 0), share: 0.3 }),
    "by overall; 30 % liking, 70 % who comes",
  );
});

test("what has changed is said, the most first", () => {
  const words = changeInWords(model, Float64Array.of(1, 0), Float64Array.of(0.3, 0.1));
  assert.equal(words, "overall from 100 % to 75 % and sleep quality from 0 % to 25 %");
  assert.equal(
    changeInWords(model, Float64Array.of(1, 1), Float64Array.of(1, 1.001)),
    "less than one percent",
  );
});
