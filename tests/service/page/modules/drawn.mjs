/** Numbers and tables that are the same in every run. */

let state = 20200823;

/** Mulberry32: small, seeded, good enough to draw examples. */
export function random() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
}

export function randomTable(rows, aspects) {
  const width = aspects + 1;
  return { values: Float32Array.from({ length: rows * width }, () => 4 * random() - 2), width };
}
