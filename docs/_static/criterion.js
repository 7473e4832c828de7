// The directional criterion as a figure that one can move: ∫_ξ^∞ N(γ d; μ, Σ) dγ in two dimensions.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const VIEW = { low: -1.6, high: 2.6, size: 420 };
const START = { meanX: 0.8, meanY: 0.4, ray: 17, turn: 45, ratio: 3, spread: 0.7, margin: 0.2 };
const SLIDERS = [
  ["meanX", "mean, first aspect", -1.2, 2.2, 0.05],
  ["meanY", "mean, second aspect", -1.2, 2.2, 0.05],
  ["ray", "direction of d, degrees", -180, 180, 1],
  ["turn", "long axis of Σ, degrees", 0, 180, 1],
  ["ratio", "how much longer it is", 1, 6, 0.1],
  ["spread", "spread of Σ", 0.2, 1.4, 0.05],
  ["margin", "margin ξ", 0, 1, 0.05],
];

/** ln erfc to about 1e-7 (a Chebyshev fit of its logarithm), also where erfc itself is 0 to a computer. */
function logErfc(x) {
  const z = Math.abs(x), t = 1 / (1 + z / 2);
  const terms = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807,
    -1.13520398, 1.48851587, -0.82215223, 0.17087277];
  const value = Math.log(t) - z * z + terms.reduceRight((sum, term) => sum * t + term, 0);
  return x >= 0 ? value : Math.log(2 - Math.exp(value));
}

function covariance({ turn, ratio, spread }) {
  const angle = (turn * Math.PI) / 180, long = spread * Math.sqrt(ratio), short = spread / Math.sqrt(ratio);
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const [p, q] = [long * long, short * short];
  return { xx: p * c * c + q * s * s, xy: (p - q) * c * s, yy: p * s * s + q * c * c, long, short };
}

/** The ray statistics A, ρ, E and the integral; the same as dmrank.directional.log_likelihood. */
function criterion(state) {
  const sigma = covariance(state), determinant = sigma.xx * sigma.yy - sigma.xy * sigma.xy;
  const solve = ([x, y]) => [
    (sigma.yy * x - sigma.xy * y) / determinant,
    (sigma.xx * y - sigma.xy * x) / determinant,
  ];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
  const angle = (state.ray * Math.PI) / 180, d = [Math.cos(angle), Math.sin(angle)];
  const mean = [state.meanX, state.meanY], s = solve(d), t = solve(mean);
  const A = dot(d, s), rho = dot(d, t) / A;
  const off = [mean[0] - rho * d[0], mean[1] - rho * d[1]];
  const E = Math.max(0, dot(off, solve(off)));
  const density = (gamma) =>
    Math.exp(-(E + A * (gamma - rho) ** 2) / 2) / (2 * Math.PI * Math.sqrt(determinant));
  const logarithm = logErfc(Math.sqrt(A / 2) * (state.margin - rho)) - E / 2
    - Math.log(8 * Math.PI * A * determinant) / 2;
  return { A, rho, E, d, density, logarithm, integral: Math.exp(logarithm), sigma };
}

function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

const toX = (x) => ((x - VIEW.low) / (VIEW.high - VIEW.low)) * VIEW.size;
const toY = (y) => VIEW.size - toX(y);

function draw(svg, state, now) {
  svg.replaceChildren();
  const title = element("title", {}, svg);
  title.textContent = `The predicted difference, its spread, and the ray of the observed direction: `
    + `integral ${now.integral.toPrecision(4)}`;
  element("line", { x1: 0, x2: VIEW.size, y1: toY(0), y2: toY(0), class: "axis" }, svg);
  element("line", { x1: toX(0), x2: toX(0), y1: 0, y2: VIEW.size, class: "axis" }, svg);
  for (const deviations of [2, 1]) {
    element("ellipse", {
      cx: 0, cy: 0, class: "density",
      rx: (deviations * now.sigma.long * VIEW.size) / (VIEW.high - VIEW.low),
      ry: (deviations * now.sigma.short * VIEW.size) / (VIEW.high - VIEW.low),
      transform: `translate(${toX(state.meanX)} ${toY(state.meanY)}) rotate(${-state.turn})`,
    }, svg);
  }
  const [dx, dy] = now.d, far = 6;
  element("line", { x1: toX(0), y1: toY(0), x2: toX(far * dx), y2: toY(far * dy), class: "ray" }, svg);
  // The density along the ray stands on it, to its left.
  const points = [];
  const peak = now.density(Math.max(now.rho, state.margin)), height = 0.55 / Math.max(peak, 0.25);
  for (let gamma = state.margin; gamma <= far; gamma += 0.03) {
    const up = height * now.density(gamma);
    points.push(`${toX(gamma * dx - up * dy)},${toY(gamma * dy + up * dx)}`);
  }
  const start = `${toX(state.margin * dx)},${toY(state.margin * dy)}`;
  const end = `${toX(far * dx)},${toY(far * dy)}`;
  element("polygon", { points: [start, ...points, end].join(" "), class: "area" }, svg);
  element("circle", { cx: toX(state.margin * dx), cy: toY(state.margin * dy), r: 4, class: "margin" }, svg);
  element("circle", { cx: toX(state.meanX), cy: toY(state.meanY), r: 9, class: "mean" }, svg);
}

function mount(place) {
  const state = { ...START };
  place.innerHTML = `<svg viewBox="0 0 ${VIEW.size} ${VIEW.size}" role="img"></svg>
    <div class="controls"></div>
    <p class="numbers" aria-live="polite"></p>`;
  const [svg, controls, numbers] = place.children;
  const inputs = {};
  function show() {
    const now = criterion(state);
    draw(svg, state, now);
    for (const [name, [input, output]] of Object.entries(inputs)) {
      input.value = state[name];
      output.textContent = Number(state[name]).toFixed(2).replace(/\.?0+$/, "");
    }
    numbers.dataset.logarithm = now.logarithm;
    numbers.innerHTML = `A = ${now.A.toFixed(2)}, ρ = ${now.rho.toFixed(2)}, E = ${now.E.toFixed(2)}; `
      + `<b>integral ${now.integral.toPrecision(3)}</b>, its logarithm ${now.logarithm.toFixed(2).replace("-", "−")}`;
  }
  for (const [name, words, low, high, step] of SLIDERS) {
    const label = document.createElement("label"), input = document.createElement("input");
    const output = document.createElement("output");
    Object.assign(input, { type: "range", min: low, max: high, step, name });
    label.append(words, output, input);
    controls.append(label);
    inputs[name] = [input, output];
    input.addEventListener("input", () => { state[name] = Number(input.value); show(); });
  }
  const move = (event) => {
    const box = svg.getBoundingClientRect(), scale = (VIEW.high - VIEW.low) / box.width;
    // As far and as fine as its sliders, so that these say what the figure shows.
    const clip = (value) => Math.round(Math.min(2.2, Math.max(-1.2, value)) * 20) / 20;
    state.meanX = clip(VIEW.low + (event.clientX - box.left) * scale);
    state.meanY = clip(VIEW.high - (event.clientY - box.top) * scale);
    show();
  };
  svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); move(event); });
  svg.addEventListener("pointermove", (event) => { if (event.buttons) move(event); });
  show();
}

document.querySelectorAll("#criterion").forEach(mount);
