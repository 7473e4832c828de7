/**
 * The documentation page: /openapi.json, readable.
 *
 * @module
 */

import { ask } from "./api.js";
import { byId, h } from "./dom.js";
import { showProblem } from "./notices.js";
import { exampleBody, exampleQuery, loadSamples } from "./samples.js";
import { fieldsOf, resolve, typeInWords } from "./schemas.js";

/** @typedef {import("./schemas.js").Schema} Schema */
/** @typedef {{ path: string, verb: string, operation: Schema }} Route */

const VERBS = ["get", "post", "put", "delete"];
/** How deep fields within fields are shown. */
const DEEPEST = 3;

/**
 * @param {Schema} document
 * @returns {Route[]}
 */
function routesOf(document) {
  return Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    VERBS.filter((verb) => verb in methods).map((verb) => {
      const shared = methods.parameters ?? [];
      const own = methods[verb].parameters ?? [];
      return { path, verb, operation: { ...methods[verb], parameters: [...shared, ...own] } };
    }),
  );
}

/**
 * @param {Route} route
 * @returns {string}
 */
function anchor({ path, verb }) {
  return `${verb}${path.replaceAll(/[^\w]+/g, "-")}`;
}

/**
 * @param {Schema} document
 * @param {Route} route
 * @param {import("./samples.js").Samples} samples
 * @returns {HTMLElement}
 */
function operationView(document, route, samples) {
  const { operation, path, verb } = route;
  const body = resolve(document, operation.requestBody);
  const content = /** @type {Schema} */ (Object.values(body.content ?? {})[0] ?? {});
  return h(
    "section",
    { class: "operation", id: anchor(route), "aria-label": `${verb.toUpperCase()} ${path}` },
    h("h2", {}, verbView(verb), h("code", {}, path)),
    operation.summary ? h("p", {}, h("b", {}, operation.summary)) : null,
    operation.description ? h("p", {}, operation.description) : null,
    parametersView(document, operation.parameters),
    content.schema ? part("Body", fieldsView(document, content.schema, true)) : null,
    part(
      "Example",
      h("pre", { tabindex: "0" }, h("code", {}, call(document, route, content, samples))),
    ),
    responsesView(document, operation.responses ?? {}),
  );
}

/**
 * @param {string} verb
 * @returns {HTMLElement}
 */
function verbView(verb) {
  return h("span", { class: "verb", "data-verb": verb }, verb.toUpperCase());
}

/**
 * @param {string} title
 * @param {HTMLElement} content
 * @returns {HTMLElement}
 */
function part(title, content) {
  return h("div", {}, h("h3", {}, title), content);
}

/**
 * @param {Schema} document
 * @param {Schema[]} parameters
 * @returns {HTMLElement | null}
 */
function parametersView(document, parameters) {
  if (parameters.length === 0) return null;
  const rows = parameters.map((given) => {
    const parameter = resolve(document, given);
    const needed = parameter.required ? h("span", { class: "needed" }, " needed") : null;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("code", {}, parameter.name), needed),
      h(
        "td",
        { class: "type" },
        typeInWords(document, parameter.schema),
        byDefault(parameter.schema),
      ),
      h("td", {}, parameter.description ?? resolve(document, parameter.schema).description ?? ""),
    );
  });
  const heads = ["Name", "Type", "What it says"].map((text) => h("th", { scope: "col" }, text));
  const table = h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
  return part("Parameters", h("div", { class: "scroll", tabindex: "0" }, table));
}

/**
 * @param {Schema | undefined} schema
 * @returns {string}
 */
function byDefault(schema) {
  const value = schema?.default;
  return value === undefined || value === null ? "" : `, by default ${JSON.stringify(value)}`;
}

/**
 * @param {Schema} document
 * @param {Schema} schema
 * @param {boolean} asked Whether one has to give it: then it says what is needed.
 * @param {number} [depth]
 * @returns {HTMLElement}
 */
function fieldsView(document, schema, asked, depth = 0) {
  const fields = fieldsOf(document, schema);
  if (fields.length === 0) return h("p", { class: "type" }, typeInWords(document, schema));
  return h(
    "ul",
    { class: "fields" },
    ...fields.map(([name, field, needed]) => {
      const about = resolve(document, field).description ?? field.description;
      const line = [
        h("code", {}, name),
        h("span", { class: "type" }, ` ${typeInWords(document, field)}${byDefault(field)}`),
        needed && asked ? h("span", { class: "needed" }, " needed") : null,
        about ? ` ${about}` : null,
      ];
      const deeper = depth < DEEPEST && fieldsOf(document, field).length > 0;
      if (!deeper) return h("li", {}, ...line);
      const inside = fieldsView(document, field, asked, depth + 1);
      return h("li", {}, h("details", {}, h("summary", {}, ...line), inside));
    }),
  );
}

/**
 * @param {Schema} document
 * @param {Schema} responses
 * @returns {HTMLElement}
 */
function responsesView(document, responses) {
  const all = Object.keys(responses);
  const good = all.filter((status) => status.startsWith("2"));
  const problems = all.filter((status) => !status.startsWith("2"));
  /** @param {string} status */
  const view = (status) => responseView(document, status, resolve(document, responses[status]));
  const more = h("summary", {}, `Problems: ${problems.join(", ")}`);
  return part(
    "Answers",
    h(
      "ul",
      { class: "fields" },
      ...good.map(view),
      problems.length > 0
        ? h("li", {}, h("details", {}, more, h("ul", { class: "fields" }, ...problems.map(view))))
        : null,
    ),
  );
}

/**
 * @param {Schema} document
 * @param {string} status
 * @param {Schema} response
 * @returns {HTMLElement}
 */
function responseView(document, status, response) {
  const contents = /** @type {[string, Schema][]} */ (Object.entries(response.content ?? {}));
  const [kind, content] = contents[0] ?? ["", {}];
  const line = [
    h("code", {}, status),
    ` ${response.description ?? ""} `,
    h("span", { class: "type" }, kind),
  ];
  if (!content.schema) return h("li", {}, ...line);
  const fields = fieldsView(document, content.schema, false);
  const open = status.startsWith("2");
  return h("li", {}, h("details", { open }, h("summary", {}, ...line), fields));
}

/**
 * Write a call of this server that can be pasted into a shell.
 *
 * @param {Schema} document
 * @param {Route} route
 * @param {Schema} content
 * @param {import("./samples.js").Samples} samples
 * @returns {string}
 */
function call(document, { operation, path, verb }, content, samples) {
  const query = exampleQuery(document, operation.parameters, samples);
  const method = verb === "get" ? "" : `-X ${verb.toUpperCase()} `;
  const lines = [`curl ${method}'${location.origin}${path}${query}'`];
  if (content.schema) {
    // A quote within a quoted word of the shell.
    const example = JSON.stringify(exampleBody(document, path, content.schema, samples));
    const json = example.replaceAll("'", "'\\''");
    lines.push(`  -H 'Content-Type: application/json'`, `  -d '${json}'`);
  }
  return lines.join(" \\\n");
}

async function start() {
  const place = byId("operations");
  try {
    const [document, samples] = await Promise.all([ask("/openapi.json"), loadSamples()]);
    const routes = routesOf(document);
    byId("title").textContent = document.info?.title ?? "The API";
    byId("version").textContent = document.info?.version ?? "";
    const links = routes.map((route) => {
      const link = h(
        "a",
        { href: `#${anchor(route)}` },
        verbView(route.verb),
        h("span", {}, route.path),
      );
      return h("li", {}, link);
    });
    byId("routes").replaceChildren(h("ul", {}, ...links));
    const about = document.info?.description;
    place.replaceChildren(
      ...(about ? [h("p", { class: "about" }, about)] : []),
      ...routes.map((route) => operationView(document, route, samples)),
    );
    if (location.hash) globalThis.document.getElementById(location.hash.slice(1))?.scrollIntoView();
  } catch (error) {
    showProblem(place, error, () => void start());
  }
}

void start();
