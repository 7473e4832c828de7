/**
 * JSON Schemas of an OpenAPI 3.1 document in words, and examples made of them.
 *
 * @module
 */

/** @typedef {Record<string, any>} Schema */

/** An example does not follow schemas into themselves further than this. */
const DEEPEST = 5;

/**
 * Follow `$ref`s within the document.
 *
 * @param {Schema} document
 * @param {Schema | undefined} schema
 * @returns {Schema}
 */
export function resolve(document, schema) {
  let found = schema ?? {};
  for (let step = 0; typeof found.$ref === "string" && step < DEEPEST; step++) {
    const names = found.$ref.replace(/^#\//, "").split("/").map(unescapePointer);
    /** @type {Schema} */
    let target = document;
    for (const name of names) target = target?.[name];
    found = target ?? {};
  }
  return found;
}

/**
 * @param {string} name
 * @returns {string}
 */
function unescapePointer(name) {
  return decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~");
}

/**
 * Say the type of a schema in a few words.
 *
 * @param {Schema} document
 * @param {Schema | undefined} given
 * @param {number} [depth]
 * @returns {string}
 */
export function typeInWords(document, given, depth = 0) {
  const schema = resolve(document, given);
  if (depth > DEEPEST) return "…";
  /** @param {Schema} part */
  const inside = (part) => typeInWords(document, part, depth + 1);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum)
    return schema.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)).join(" or ");
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return [...new Set(several.map(inside))].join(" or ");
  if (schema.allOf) return schema.allOf.map(inside).join(" and ");
  const types = [schema.type ?? (schema.properties ? "object" : "anything")].flat();
  return types.map((type) => oneType(type, schema, inside)).join(" or ");
}

/**
 * @param {string} type
 * @param {Schema} schema
 * @param {(part: Schema) => string} inside
 * @returns {string}
 */
function oneType(type, schema, inside) {
  if (type === "array") {
    if (schema.prefixItems) return `[${schema.prefixItems.map(inside).join(", ")}]`;
    return `list of ${schema.items ? inside(schema.items) : "anything"}`;
  }
  if (type === "object" && typeof schema.additionalProperties === "object") {
    return `mapping to ${inside(schema.additionalProperties)}`;
  }
  const limits = limitsInWords(schema);
  return limits ? `${type} ${limits}` : type;
}

/**
 * @param {Schema} schema
 * @returns {string}
 */
function limitsInWords(schema) {
  const low = schema.minimum ?? schema.exclusiveMinimum;
  const high = schema.maximum ?? schema.exclusiveMaximum;
  if (low !== undefined && high !== undefined) return `from ${low} to ${high}`;
  if (low !== undefined) return `of at least ${low}`;
  return high === undefined ? "" : `of at most ${high}`;
}

/**
 * Return the properties that are to be shown of a schema: its own, or those of what it lists.
 *
 * @param {Schema} document
 * @param {Schema | undefined} given
 * @returns {[string, Schema, boolean][]} Name, schema, whether it is needed.
 */
export function fieldsOf(document, given) {
  const schema = resolve(document, given);
  const own = Object.entries(schema.properties ?? {});
  if (own.length > 0) {
    const needed = new Set(schema.required ?? []);
    return own.map(([name, field]) => [name, field, needed.has(name)]);
  }
  const parts = [schema.items, ...(schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [])];
  return parts.filter(Boolean).flatMap((part) => fieldsOf(document, part));
}

/**
 * Make an example of a schema: what it gives itself, or something of its type.
 *
 * @param {Schema} document
 * @param {Schema | undefined} given
 * @param {number} [depth]
 * @returns {any}
 */
export function exampleOf(document, given, depth = 0) {
  const schema = resolve(document, given);
  const examples = schema.examples ?? [];
  for (const own of [given?.example, schema.example, examples[0], schema.const, schema.enum?.[0]]) {
    if (own !== undefined) return own;
  }
  if (schema.default !== undefined) return schema.default;
  if (depth > DEEPEST) return null;
  const several = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (several) return exampleOf(document, several[0], depth + 1);
  return exampleOfType(document, schema, depth);
}

/**
 * @param {Schema} document
 * @param {Schema} schema
 * @param {number} depth
 * @returns {any}
 */
function exampleOfType(document, schema, depth) {
  const type = [schema.type ?? "object"].flat()[0];
  if (type === "array") {
    const parts = schema.prefixItems ?? [schema.items];
    return parts.map((/** @type {Schema} */ part) => exampleOf(document, part, depth + 1));
  }
  if (type === "object") {
    const needed = fieldsOf(document, schema).filter(([, , isNeeded]) => isNeeded);
    return Object.fromEntries(
      needed.map(([name, part]) => [name, exampleOf(document, part, depth + 1)]),
    );
  }
  if (type === "string") return "string";
  if (type === "boolean") return true;
  return type === "null" ? null : (schema.minimum ?? 1);
}
