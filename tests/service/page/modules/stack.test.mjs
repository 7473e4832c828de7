import assert from "node:assert/strict";
import { test } from "node:test";
import { brackets, reach, roundUp, stack } from "../../../../src/dmrank/service/page/stack.js";
import { random } from "./drawn.mjs";

test("positive parts go to the right of zero, negative ones to the left", () => {
  const ends = stack(Float64Array.of(2, -1, 3, -4), -1);
  assert.deepEqual([...ends], [0, 2, -1, 0, 2, 5, -5, -1]);
});

test("the part at which rows are aligned begins at zero in every row", () => {
  for (let draw = 0; draw < 100; draw++) {
    const parts = Float64Array.from({ length: 5 }, () => 2 * random() - 1);
    const ends = stack(parts, 3);
    assert.equal(parts[3] < 0 ? ends[7] : ends[6], 0);
  }
});

test("aligning changes neither lengths nor how far a bar reaches", () => {
  const parts = Float64Array.from({ length: 6 }, () => 2 * random() - 1);
  for (let aligned = -1; aligned < 6; aligned++) {
    const ends = stack(parts, aligned);
    parts.forEach((part, place) => {
      assert.ok(Math.abs(ends[2 * place + 1] - ends[2 * place] - Math.abs(part)) < 1e-12);
    });
    const { left, right } = reach(parts, 6);
    assert.ok(Math.abs(Math.min(...ends) + left) < 1e-12);
    assert.ok(Math.abs(Math.max(...ends) - right) < 1e-12);
  }
});

test("the scale goes up in steps of a tenth", () => {
  assert.equal(roundUp(0), 0);
  assert.equal(roundUp(1), 1);
  assert.equal(roundUp(1.01), roundUp(1.09));
  for (const size of [0.003, 0.7, 1.15, 42]) {
    assert.ok(size <= roundUp(size) * (1 + 1e-9) && roundUp(size) < size * 1.1 * (1 + 1e-9));
  }
});

test("rows are bracketed while each is about as well liked as the next", () => {
  const better = [0.7, 0.5, 0.4, 0.61, 0.39, 0.6, null];
  assert.deepEqual(brackets(better), ["", "start", "middle", "end", "", "start", "end"]);
});

test("the last row and rows of which nothing is known begin no bracket", () => {
  assert.deepEqual(brackets([null, 0.5]), ["", ""]);
  assert.deepEqual(brackets([]), []);
});
