import { batch, newSecret, newToken, secretListQuery, vaultChanges } from "@hearth-and-keep/vault-contract";
import type { TSchema } from "typebox";
import { expect, test } from "vitest";
import { explainInvalid } from "./explain-invalid.ts";
import { routes } from "./routes.ts";

const scopes =
  "vaults:read, vaults:write, vaults:delete, secrets:list, secrets:read, secrets:write, secrets:delete, secrets:destroy, tokens:read, tokens:write, audit:read, keys:rotate, grants:read, grants:write";

test.each<[what: string, schema: TSchema, value: unknown, errors: readonly string[]]>([
  ["a valid body", newSecret, { value: "x" }, []],
  [
    "an unknown field",
    newSecret,
    { val: "x" },
    ['val: unknown field "val"; the known ones are value, encoding, type, tags, note', "value: is required"],
  ],
  [
    "a number outside its range",
    secretListQuery,
    { limit: "9999" },
    ["limit: must be a whole number from 1 to 200"],
  ],
  ["an unknown scope", newToken, { name: "t", scopes: ["a:b"] }, [`scopes.0: must be one of ${scopes}`]],
  ["an empty list", newToken, { name: "t", scopes: [] }, ["scopes: must have 1 to 14 items"]],
  [
    "an item twice",
    newToken,
    { name: "t", scopes: ["secrets:read", "secrets:read"] },
    ["scopes: must not contain an item twice"],
  ],
  [
    "an invalid item of a list that may be null",
    newToken,
    { name: "t", scopes: ["secrets:read"], paths: ["x"] },
    [
      "paths.0: must be a path pattern such as /prod/**, in which * stands for one segment and a final ** for one or more",
    ],
  ],
  ["null where it is allowed", newToken, { name: "t", scopes: ["secrets:read"], paths: null }, []],
  [
    "a value of the wrong type",
    newToken,
    { name: 7, scopes: "all", expires_at: "tomorrow" },
    [
      "name: must be one line of 1 to 255 characters, without blanks at its start or end",
      "scopes: must be a list",
      "expires_at: must be a date and time such as 2026-01-31T12:00:00.000Z",
    ],
  ],
  [
    "one kind of several",
    batch,
    { operations: [{ op: "delete", path: "/A" }, { op: "put", path: "/A", val: 1 }, { op: "pot" }, 7] },
    [
      'operations.1.val: unknown field "val"; the known ones are op, path, value, encoding, type, tags, note, if_revision',
      "operations.1.value: is required",
      "operations.2.op: must be one of put, move, delete",
      "operations.3: must be an object",
    ],
  ],
  [
    "a number or a star",
    batch,
    {
      operations: [
        { op: "delete", path: "/A", if_revision: -1 },
        { op: "delete", path: "/A", if_revision: "x" },
      ],
    },
    [
      "operations.0.if_revision: must be a whole number of 0 or more",
      'operations.1.if_revision: must be "*"',
    ],
  ],
  [
    "no field where one is needed",
    vaultChanges,
    {},
    [
      ": must have at least one of name, demands_preconditions, most_versions, when_versions_full, environments, base, protected_paths",
    ],
  ],
  ["something else than an object", newSecret, "x", [": must be an object"]],
  [
    "text that is too long",
    newSecret,
    { value: "", note: "x".repeat(5000) },
    ["note: must be text of 0 to 4096 characters"],
  ],
])("%s is explained by field and allowed values", (...[, schema, value, errors]) => {
  expect(explainInvalid(schema, value).map(({ field, reason }) => `${field}: ${reason}`)).toEqual(errors);
});

test("an error never contains the rejected value", () => {
  const canary = "canary-value";
  const bodies = [
    { value: [canary] },
    { value: { canary } },
    { value: "x", type: canary, tags: [`${canary}\n`] },
  ];
  for (const body of bodies) expect(JSON.stringify(explainInvalid(newSecret, body))).not.toContain(canary);
});

test("every pattern and format of a request says in words what is expected", () => {
  const silent: string[] = [];
  const walk = (value: unknown, place: string): void => {
    if (typeof value !== "object" || value === null) return;
    const rules = { pattern: undefined, format: undefined, ...value };
    const isRestricted = typeof rules.pattern === "string" || typeof rules.format === "string";
    if (isRestricted && !("x-expected" in value)) silent.push(place);
    for (const [name, inner] of Object.entries(value)) walk(inner, `${place}.${name}`);
  };
  for (const { operationId, bodySchema, querySchema } of routes)
    walk({ bodySchema, querySchema }, operationId);
  expect(silent).toEqual([]);
});
