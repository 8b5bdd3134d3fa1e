import type { CheckCase } from "./check-case.ts";

export const boundedSchemas: CheckCase = {
  broken: {
    "apps/hearth/src/dialects/ollama/schema.ts": `
import Type from "typebox";

const named = { title: "A name" };

export const request = Type.Object({
  model: Type.String(),
  prompt: Type.String(named),
  pattern: Type.String({ pattern: "^[a-z]+$" }),
  loose: Type.String({ pattern: "[a-z]{1,8}" }),
  choice: Type.String({ pattern: "^a|b$" }),
  moment: Type.String({ format: "date-time" }),
  stops: Type.Array(Type.String({ maxLength: 10 })),
  seed: Type.Integer({ minimum: 0 }),
  share: Type.Number(),
  labels: Type.Record(Type.String({ maxLength: 8 }), Type.Boolean()),
  extra: Type.Unknown(),

  raw: Type.Unsafe<string>({ type: "string" }),
});
`,
    "packages/vault-contract/src/secret.ts": `
import { Type as Shape, String as Text } from "typebox";

export const secret = Shape.Object({ path: Text(), tags: Shape.Optional(Shape.Array(Text({ maxLength: 8 }))) });
`,
  },
  valid: {
    "apps/hearth/src/dialects/ollama/chat.ts": `
import Type from "typebox";

export const response = Type.String();
`,
    "apps/hearth/src/dialects/ollama/schema.ts": `
import Type from "typebox";
import { Array as List, text } from "./text.ts";

const limits = { name: 100 };
const named = { title: "A name", maxLength: limits.name };

export const request = Type.Object({
  model: Type.String(named),
  prompt: Type.String({ ...named, minLength: 1 }),
  pattern: Type.String({ pattern: "^[a-z+*]{1,8}(?:a|b)$" }),
  id: Type.String({ format: "uuid" }),
  moment: Type.String({ format: "date-time", maxLength: 40 }),
  kind: Type.String({ enum: ["a", "b"] }),
  stops: Type.Array(Type.String({ maxLength: 10 }), { maxItems: 8 }),
  seed: Type.Integer({ minimum: 0, maximum: 10 }),
  share: Type.Number({ exclusiveMinimum: 0, maximum: 1 }),
  labels: Type.Record(Type.String({ maxLength: 8 }), Type.Boolean(), { maxProperties: 8 }),
  level: Type.Integer({ enum: [1, 2] }),
  flag: Type.Boolean(),
  word: Type.Literal("x"),
  // A JSON schema of the client's own, bounded by the size of the body.
  format: Type.Unknown(),
});

export const shown = String(text.String() + List());
`,
    "apps/hearth/src/dialects/ollama/text.ts": `
export const text = { String: (): string => "" };
export const Array = (): string => "";
`,
    "packages/vault-contract/src/secret.test.ts": `
import Type from "typebox";

export const unbounded = Type.String();
`,
  },
  expected: [
    "apps/hearth/src/dialects/ollama/schema.ts:6",
    "apps/hearth/src/dialects/ollama/schema.ts:7",
    "apps/hearth/src/dialects/ollama/schema.ts:8",
    "apps/hearth/src/dialects/ollama/schema.ts:9",
    "apps/hearth/src/dialects/ollama/schema.ts:10",
    "apps/hearth/src/dialects/ollama/schema.ts:11",
    "apps/hearth/src/dialects/ollama/schema.ts:12",
    "apps/hearth/src/dialects/ollama/schema.ts:13",
    "apps/hearth/src/dialects/ollama/schema.ts:14",
    "apps/hearth/src/dialects/ollama/schema.ts:15",
    "apps/hearth/src/dialects/ollama/schema.ts:16",
    "apps/hearth/src/dialects/ollama/schema.ts:18",
    "packages/vault-contract/src/secret.ts:3",
    "packages/vault-contract/src/secret.ts:3",
  ],
};
