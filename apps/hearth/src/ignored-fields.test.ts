import { Type } from "typebox";
import { expect, test } from "vitest";
import { listFields, unlistedFields } from "./ignored-fields.ts";

const listed = listFields(
  Type.Object({
    model: Type.String({ maxLength: 8 }),
    reasoning: Type.Optional(
      Type.Union([Type.Object({ effort: Type.Optional(Type.String({ maxLength: 8 })) }), Type.Null()]),
    ),
    tools: Type.Optional(Type.Array(Type.Object({ name: Type.String({ maxLength: 8 }) }), { maxItems: 8 })),
    items: Type.Optional(
      Type.Array(
        Type.Union([
          Type.Object({ text: Type.String({ maxLength: 8 }) }),
          Type.Object({ type: Type.String({ maxLength: 8 }) }),
        ]),
        { maxItems: 8 },
      ),
    ),
    choice: Type.Optional(
      Type.Union([
        Type.Object({ type: Type.Literal("auto") }),
        Type.Object({ type: Type.Literal("tool"), name: Type.String({ maxLength: 8 }) }),
      ]),
    ),
    // Passed on whole.
    schema: Type.Optional(Type.Object({})),
    labels: Type.Optional(
      Type.Record(Type.String({ maxLength: 8 }), Type.String({ maxLength: 8 }), { maxProperties: 8 }),
    ),
  }),
);

test("fields that the schema does not list are named, also in objects, and null means absent", () => {
  const body = { model: "m", user: "u", seed: null, reasoning: { effort: "low", mode: "x", context: null } };
  expect(unlistedFields(body, listed)).toEqual(["user", "reasoning.mode"]);
  expect(unlistedFields({ choice: { type: "auto", tool: 1 } }, listed)).toEqual(["choice.tool"]);
});

test("fields of objects in lists are named once, without their position", () => {
  const tools = [{ name: "a", cache: 1 }, { name: "b", cache: 2 }, "text", null];
  expect(unlistedFields({ model: "m", tools }, listed)).toEqual(["tools.cache"]);
});

test("values that are passed on whole are not searched", () => {
  const body = {
    model: "m",
    schema: { type: "object" },
    labels: { team: "a" },
    items: [{ type: "other", x: 1 }],
  };
  expect(unlistedFields(body, listed)).toEqual([]);
  expect(unlistedFields(undefined, listed)).toEqual([]);
  expect(unlistedFields(["model"], listed)).toEqual([]);
});

test("names of the prototype are names like any other", () => {
  const body: unknown = JSON.parse('{"model":"m","constructor":1,"__proto__":2,"toString":3}');
  expect(unlistedFields(body, listed)).toEqual(["constructor", "__proto__", "toString"]);
});
