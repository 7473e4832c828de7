import assert from "node:assert/strict";
import { test } from "node:test";
import {
  EMPTY,
  formatState,
  mixOf,
  parseState,
} from "../../../../src/dmrank/service/page/state.js";

test("a state comes back from its address", () => {
  const states = [
    { ...EMPTY, user: "u/1 #😀&by=x" },
    { ...EMPTY, user: "7", by: "all", preference: 0.25, align: "exposure" },
    { ...EMPTY, user: "u", by: { "a=b": 0.5, all: 1 }, picked: ["<b>", "x&y"], n: 60 },
    { ...EMPTY, user: "u", by: {} },
    {
      ...EMPTY,
      ratings: [
        { item: 3, overall: 5 },
        { item: "h1", service: 2 },
      ],
    },
    { ...EMPTY, ratings: [] },
  ];
  for (const state of states) assert.deepEqual(parseState(formatState(state)), state);
});

test("an empty address is the empty state", () => {
  assert.deepEqual(parseState(""), { ...EMPTY });
});

test("what cannot be read is as if it were not there", () => {
  const read = parseState(
    '#preference=2&by=x=-1&by=y=NaN&by=z&n=-4&ratings=[1,{"a":2},{"item":3}]',
  );
  assert.deepEqual(read, { ...EMPTY, by: {}, n: 1, ratings: [{ item: 3 }] });
  assert.deepEqual(parseState("#ratings={oops&n=9999").ratings, []);
  assert.equal(parseState("#n=9999").n, 100);
  assert.equal(parseState("#preference=").preference, null);
});

test("an aspect may be called like something of JavaScript's own", () => {
  const read = parseState("#by=constructor=1&by=__proto__=0.5");
  assert.deepEqual(Object.entries(read.by), [
    ["constructor", 1],
    ["__proto__", 0.5],
  ]);
});

test("a mix names the aspects that count", () => {
  assert.deepEqual(mixOf(["a", "b", "c"], Float64Array.of(0.5, 0, 1 / 3)), {
    a: 0.5,
    c: 0.3333333,
  });
});
