import assert from "node:assert/strict";
import { test } from "node:test";
import { exampleBody, exampleQuery } from "../../../../src/dmrank/service/page/samples.js";
import { exampleOf, fieldsOf, typeInWords } from "../../../../src/dmrank/service/page/schemas.js";

const document = {
  components: {
    schemas: {
      Id: { anyOf: [{ type: "string" }, { type: "integer" }] },
      Row: {
        type: "object",
        properties: {
          id: { $ref: "#/components/schemas/Id" },
          next: { $ref: "#/components/schemas/Row" },
        },
        required: ["id", "next"],
      },
    },
  },
};
const ref = (name) => ({ $ref: `#/components/schemas/${name}` });

test("types are said in words", () => {
  const said = (schema) => typeInWords(document, schema);
  assert.equal(said(ref("Id")), "string or integer");
  assert.equal(said({ type: "array", items: ref("Id") }), "list of string or integer");
  assert.equal(said({ type: "number", minimum: 0, maximum: 1 }), "number from 0 to 1");
  assert.equal(said({ enum: ["raise", "popular"] }), '"raise" or "popular"');
  assert.equal(
    said({ type: "object", additionalProperties: { type: "number" } }),
    "mapping to number",
  );
  assert.equal(said({ type: ["string", "null"] }), "string or null");
  assert.equal(said(undefined), "anything");
});

test("fields of a list are those of what it lists", () => {
  const fields = fieldsOf(document, { type: "array", items: ref("Row") });
  assert.deepEqual(
    fields.map(([name, , needed]) => [name, needed]),
    [
      ["id", true],
      ["next", true],
    ],
  );
});

test("an example of a schema that holds itself ends", () => {
  assert.equal(exampleOf(document, ref("Row")).next.next.id, "string");
});

test("an example names a user, or the ratings of one who is none", () => {
  const samples = { user: "u1", ratings: [{ item: "h1" }], by: "service" };
  const properties = { user: {}, ratings: {}, by: {}, n: { type: "integer" } };
  assert.deepEqual(exampleBody(document, "/x", { type: "object", properties }, samples), {
    user: "u1",
    by: "service",
  });
  delete properties.user;
  assert.deepEqual(exampleBody(document, "/x", { type: "object", properties }, samples), {
    ratings: [{ item: "h1" }],
    by: "service",
  });
});

test("an example's query has what is needed, or the first that is known", () => {
  const user = { in: "query", name: "user", schema: ref("Id") };
  const by = { in: "query", name: "by", schema: { type: "array", items: { type: "string" } } };
  const samples = { user: "u 1", by: "service" };
  assert.equal(
    exampleQuery(document, [{ ...user, required: true }, by], samples),
    "?user=u+1&by=service",
  );
  assert.equal(exampleQuery(document, [user, by], samples), "?user=u+1");
  assert.equal(exampleQuery(document, [{ ...user, required: true }], {}), "?user=string");
  assert.equal(exampleQuery(document, [], samples), "");
});
