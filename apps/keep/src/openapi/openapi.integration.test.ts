import { recordFigure } from "@hearth-and-keep/figures";
import { Compile } from "typebox/compile";
import { expect, test } from "vitest";
import { routes } from "../routes.ts";
import { startTestKeep } from "../test/start-test-keep.ts";
import type { ApiDocument } from "./describe-api.ts";
import { describeApi } from "./describe-api.ts";
import { templateOf } from "./describe-parameters.ts";
import { nameSchemas } from "./name-schemas.ts";

type Described = { readonly description?: string; readonly $ref?: string };

type Operation = {
  readonly operationId: string;
  readonly parameters?: readonly (Described & { readonly name: string; readonly in: string })[];
  readonly requestBody?: object;
  readonly security: readonly object[];
  readonly responses: Readonly<Record<string, object>>;
};

function operationsOf(document: ApiDocument): readonly (readonly [string, Operation])[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      // The shape that describeApi generates.
      ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation as Operation] as const,
    ),
  );
}

test("every route is in the document with its body, responses and security", async () => {
  await using keep = await startTestKeep();
  const response = await keep.request("/openapi.json");
  // Checked by the assertions below.
  const document = (await response.json()) as ApiDocument;
  expect([response.status, document.openapi]).toEqual([200, "3.1.0"]);
  const operations = new Map(operationsOf(document));
  expect([...operations.keys()].toSorted()).toEqual(
    routes.map(({ method, path }) => `${method} ${templateOf(path)}`).toSorted(),
  );
  for (const row of routes) {
    const operation = operations.get(`${row.method} ${templateOf(row.path)}`);
    expect(operation?.requestBody !== undefined, row.path).toBe(row.bodySchema !== undefined);
    expect(Object.keys(operation?.responses ?? {})).toEqual(
      expect.arrayContaining(Object.keys(row.responses)),
    );
    expect(operation?.security.length === 0, row.path).toBe(row.access === "public");
    const isRefusable = row.access !== "public";
    expect("401" in (operation?.responses ?? {}), row.path).toBe(isRefusable);
  }
  const names = [...operations.values()].map(({ operationId }) => operationId);
  expect(new Set(names).size).toBe(names.length);
});

test("every example in the document validates against its schema", () => {
  const document = describeApi(routes, "0");
  const resolve = (schema: unknown): object => {
    const text = JSON.stringify(schema, (_name, inner: unknown) => {
      const reference =
        typeof inner === "object" && inner !== null && "$ref" in inner ? inner.$ref : undefined;
      return reference === undefined ? inner : document.components.schemas[nameIn(reference)];
    });
    // Every schema in the document is an object.
    return JSON.parse(text) as object;
  };
  const examples: boolean[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if ("schema" in value && "example" in value) {
      examples.push(Compile(resolve(value.schema)).Check(value.example));
    }
    for (const inner of Object.values(value)) walk(inner);
  };
  walk(document.paths);
  expect(examples.length).toBeGreaterThan(10);
  expect(examples).not.toContain(false);
});

const nameIn = (reference: unknown): string => String(reference).split("/").at(-1) ?? "";

test("every operation is named by a verb, once, and no name depends on its URL", () => {
  const verbs =
    /^(?:accept|add|apply|approve|check|compare|confirm|count|create|delete|destroy|end|exchange|export|finish|get|import|leave|link|list|move|preview|promote|propose|read|redeem|reject|remove|rename|report|restore|resume|revoke|rotate|search|show|signOut|start|suspend|transfer|unlink|update|use|withdraw|write)(?:[A-Z][a-z]+)*$/u;
  const names = operationsOf(describeApi(routes, "0")).map(([, { operationId }]) => operationId);
  expect(names.filter((name) => !verbs.test(name))).toEqual([]);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  for (const name of ["createToken", "listVaults", "writeSecret"]) expect(names).toContain(name);
});

test("every property and every parameter is described, and every object is a named schema", () => {
  const document = describeApi(routes, "0");
  const schemas = document.components.schemas;
  const parameters = operationsOf(document).flatMap(([path, operation]) =>
    (operation.parameters ?? []).map((parameter) => ({ place: `${path} ${parameter.name}`, ...parameter })),
  );
  const properties: { readonly place: string; readonly description: string | undefined }[] = [];
  const inline: string[] = [];
  const walk = (value: unknown, place: string, isNamed: boolean): void => {
    if (typeof value !== "object" || value === null) return;
    if ("properties" in value && !isNamed) inline.push(place);
    if ("properties" in value) {
      // The properties of a schema are schemas.
      const members = value.properties as Readonly<Record<string, Described>>;
      for (const [name, property] of Object.entries(members)) {
        const { $ref: reference } = property;
        const described = reference === undefined ? property : schemas[nameIn(reference)];
        properties.push({ place: `${place}.${name}`, description: described?.description });
      }
    }
    for (const [name, inner] of Object.entries(value))
      if (name !== "example") walk(inner, `${place}/${name}`, false);
  };
  for (const [name, schema] of Object.entries(schemas)) walk(schema, name, true);
  walk(document.paths, "", false);
  expect(inline).toEqual([]);
  const all = [...parameters, ...properties];
  expect(all.filter(({ description = "" }) => description.length < 8).map(({ place }) => place)).toEqual([]);
  for (const [name, { description = "" }] of Object.entries(schemas))
    expect([name, description]).not.toEqual([name, ""]);
  recordFigure({
    claim: "teams 10",
    text: `described: ${properties.length} of ${properties.length} properties in ${Object.keys(schemas).length} named schemas, ${parameters.length} of ${parameters.length} parameters; ${operationsOf(document).length} operations named by verbs`,
    counted: { reached: all.length, needed: all.length },
  });
});

test("two different schemas with the same title are rejected, one schema used twice is not", () => {
  const schema = { type: "object", title: "Thing", description: "A thing" };
  const { schemas, value } = nameSchemas([schema, { ...schema }]);
  const reference = { $ref: "#/components/schemas/Thing" };
  expect(Object.keys(schemas)).toEqual(["Thing"]);
  expect(value).toEqual([reference, reference]);
  expect(() => nameSchemas([schema, { ...schema, description: "Other" }])).toThrow('have the title "Thing"');
});

test("a route with an undescribed path parameter is rejected", () => {
  const row = { method: "GET", path: "/a/:novelty", operationId: "getNovelty", summary: "" } as const;
  expect(() => describeApi([{ ...row, access: "public", responses: {} }], "0")).toThrow(
    "the path parameter novelty has no schema",
  );
});

test("metrics are only on their own port, are labeled by route, and contain no client data", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const token = await keep.addToken(person, { scopes: ["vaults:read"] });
  expect((await keep.request("/api/secrets/vaults", { token: token.text })).status).toBe(200);
  await keep.request("/canary-path?canary-query=1", { token: "canary-token", method: "DELETE" });
  expect((await keep.request("/metrics")).status).toBe(404);
  const response = await fetch(keep.metricsUrl);
  const text = await response.text();
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    expect.stringContaining("text/plain"),
  ]);
  expect(text).toContain('keep_requests_total{route="GET /api/secrets/vaults",status="200"} 1');
  expect(text).toContain('keep_requests_total{route="DELETE no route",status="404"} 1');
  expect(text).toContain('keep_refusals_total{failure="not-found"}');
  expect(text).toMatch(/keep_database_connections_idle \d/);
  expect(text).toMatch(/keep_resident_memory_bytes \d{6}/);
  expect(text).not.toContain("canary");
  expect(text.split("\n").filter((line) => /^[a-z]/.test(line) && !line.startsWith("keep_"))).toEqual([]);
  expect((await fetch(new URL("/other", keep.metricsUrl))).status).toBe(404);
});

test("a request's log line has the route, actor and account, but no path, query or header", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const token = await keep.addToken(person, { scopes: ["vaults:read"] });
  await keep.request("/api/secrets/vaults?limit=7&note=canary-query", {
    token: token.text,
    headers: { "user-agent": "canary-agent", "x-forwarded-for": "192.0.2.99" },
  });
  await keep.request("/canary-path");
  await expect.poll(() => keep.logLines.filter((line) => line.includes("Request completed")).length).toBe(2);
  const lines = keep.logLines.filter((line) => line.includes("Request completed"));
  // A line is one JSON object.
  expect(JSON.parse(lines[0] ?? "") as unknown).toMatchObject({
    route: "GET /api/secrets/vaults",
    actor: `token:${token.id}`,
    account: person.accountId,
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    durationMilliseconds: expect.any(Number),
  });
  for (const canary of ["canary", "192.0.2.99", token.text, "limit=7"]) {
    expect(keep.logLines.join("\n")).not.toContain(canary);
  }
});

test("the document is served at most sixty times a minute to one address", async () => {
  await using keep = await startTestKeep();
  const request = async () => {
    const response = await keep.request("/openapi.json");
    await response.arrayBuffer();
    return response.status;
  };
  const statuses = await Promise.all(Array.from({ length: 80 }, request));
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(60);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(10);
});
