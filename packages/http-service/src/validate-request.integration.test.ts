import { Type } from "typebox";
import { expect, test } from "vitest";
import { accepts, BodyError, createHttpService, InvalidRequestError, jsonResponse } from "./index.ts";

const body = Type.Object({ name: Type.String({ maxLength: 3 }), items: Type.Array(Type.Integer()) });
const query = Type.Object({ limit: Type.Optional(Type.String({ pattern: "^[0-9]+$" })) });

async function startService() {
  const service = createHttpService({
    routes: [
      {
        method: "POST" as const,
        path: "/both",
        ...accepts({ body, query }, (request, suffix: string) =>
          jsonResponse({ name: request.body.name + suffix, limit: request.query.limit ?? null }),
        ),
      },
      {
        method: "POST" as const,
        path: "/optional",
        ...accepts({ body: Type.Optional(body) }, (request) =>
          jsonResponse({ isMissing: request.body === undefined }),
        ),
      },
    ],
    dependencies: "!",
    authenticate: () => undefined,
    toErrorResponse: (error) => {
      if (error instanceof BodyError) return jsonResponse({ reason: error.reason }, 400);
      return jsonResponse({ errors: error instanceof InvalidRequestError ? error.errors : "other" }, 422);
    },
    recordRequest: () => undefined,
    maxBodyBytes: 1000,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return { url, [Symbol.asyncDispose]: () => service.close(0.2) };
}

async function post(url: string, value?: unknown): Promise<unknown> {
  const sent = value === undefined ? {} : { body: JSON.stringify(value) };
  const response = await fetch(url, { method: "POST", ...sent });
  return [response.status, await response.json()];
}

test("a handler runs only with a body and query that match its schemas, and gets the dependencies", async () => {
  await using server = await startService();
  const valid = { name: "abc", items: [1] };
  expect(await post(`${server.url}/both?limit=5`, valid)).toEqual([200, { name: "abc!", limit: "5" }]);
  expect(await post(`${server.url}/both`, valid)).toEqual([200, { name: "abc!", limit: null }]);
  expect(await post(`${server.url}/both`)).toEqual([400, { reason: "missing" }]);
});

test("a body with an optional schema may be missing, but not invalid", async () => {
  await using server = await startService();
  expect(await post(`${server.url}/optional`)).toEqual([200, { isMissing: true }]);
  expect(await post(`${server.url}/optional`, { name: "abc", items: [] })).toEqual([
    200,
    { isMissing: false },
  ]);
  expect(await post(`${server.url}/optional`, { name: "abc" })).toEqual([422, expect.any(Object)]);
});

test("every invalid field of the body and the query is named, at most eight of each", async () => {
  await using server = await startService();
  const fieldsOf = async (path: string, value: unknown) => {
    // The shape that this test's own error mapping writes.
    const [status, { errors }] = (await post(server.url + path, value)) as [
      number,
      { readonly errors: readonly { readonly field: string; readonly reason: string }[] },
    ];
    expect(status).toBe(422);
    expect(errors.every(({ reason }) => reason !== "")).toBe(true);
    return errors.map(({ field }) => field);
  };
  expect(await fieldsOf("/both?limit=x", { name: "abcd", items: [1, "2"] })).toEqual([
    "name",
    "items.1",
    "limit",
  ]);
  expect(await fieldsOf("/both", "text")).toEqual([""]);
  expect(await fieldsOf("/both", { name: "a", items: Array(30).fill("x") })).toHaveLength(8);
});
