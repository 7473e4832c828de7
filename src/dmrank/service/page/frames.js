/**
 * Drawing at most once per frame of the screen, and at once if nothing was drawn in this one.
 *
 * @module
 */

/**
 * @param {() => void} draw
 * @returns {() => void}
 */
export function oncePerFrame(draw) {
  let drawn = false;
  let again = false;
  const start = () => {
    if (drawn) {
      again = true;
      return;
    }
    drawn = true;
    draw();
    requestAnimationFrame(() => {
      drawn = false;
      if (!again) return;
      again = false;
      start();
    });
  };
  return start;
}
