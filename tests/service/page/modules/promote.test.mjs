import assert from "node:assert/strict";
import { test } from "node:test";
import { ROUNDS, firstOrders, promote } from "../../../../src/dmrank/service/page/promote.js";

const list = ["a", "b", "c", "d"];

/** A server that answers one after the other, and remembers what it was asked. */
function server(answers) {
  const asked = [];
  const ask = async (orders) => {
    asked.push(structuredClone(orders));
    return answers[Math.min(asked.length, answers.length) - 1];
  };
  return { asked, ask };
}

const found = (x) => ({ weights: { x }, prevented_by: [] });

test("an item is asked to be before all that it passes", () => {
  assert.deepEqual(firstOrders("d", list, 1), [
    ["d", "b"],
    ["d", "c"],
  ]);
  assert.deepEqual(firstOrders("a", list, 2), [
    ["b", "a"],
    ["c", "a"],
  ]);
});

test("the mix is taken when the item is where it should be", async () => {
  const { ask, asked } = server([found(1)]);
  const answer = await promote({ item: "c", list, place: 1, ask, ahead: async () => ["a"] });
  assert.deepEqual(answer, { weights: { x: 1 } });
  assert.deepEqual(asked, [[["c", "b"]]]);
});

test("what gets ahead on the way is asked for as well", async () => {
  const { ask, asked } = server([found(1), found(2)]);
  const ahead = async ({ x }) => (x === 1 ? ["a", "z"] : ["a"]);
  const answer = await promote({ item: "c", list, place: 1, ask, ahead });
  assert.deepEqual(answer, { weights: { x: 2 } });
  assert.deepEqual(asked[1], [
    ["c", "b"],
    ["c", "z"],
  ]);
});

test("a newcomer ahead is no harm where one of those above has fallen behind", async () => {
  const { ask, asked } = server([found(1)]);
  await promote({ item: "c", list, place: 1, ask, ahead: async () => ["z"] });
  assert.equal(asked.length, 1);
});

test("the items that prevent every mix are named, each once", async () => {
  const { ask } = server([
    {
      weights: null,
      prevented_by: [
        ["d", "a"],
        ["d", "b"],
      ],
    },
  ]);
  const answer = await promote({ item: "d", list, place: 0, ask, ahead: async () => [] });
  assert.deepEqual(answer, { prevented: ["a", "b"] });
});

test("after some rounds those that are still ahead are named", async () => {
  const { ask, asked } = server([found(1)]);
  let next = 0;
  const ahead = async () => ["a", `z${next++}`];
  const answer = await promote({ item: "d", list, place: 1, ask, ahead });
  assert.equal(asked.length, ROUNDS);
  assert.deepEqual(answer, { prevented: [`z${ROUNDS - 1}`] });
});
