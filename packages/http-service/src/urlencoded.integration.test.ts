import { expect, test } from "vitest";
import { BodyError, createHttpService, jsonResponse } from "./index.ts";

const type = "application/x-www-form-urlencoded";

async function startService() {
  const service = createHttpService({
    routes: [{ method: "POST", path: "/form", body: "urlencoded", handle: ({ body }) => jsonResponse(body) }],
    toErrorResponse: (error) =>
      jsonResponse({ error: error instanceof BodyError ? error.reason : "other" }, 400),
    dependencies: undefined,
    authenticate: () => undefined,
    recordRequest: () => undefined,
    maxBodyBytes: 4096,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return { url: `${url}/form`, [Symbol.asyncDispose]: () => service.close(0.2) };
}

async function post(url: string, body: string | Uint8Array<ArrayBuffer>, contentType = type) {
  const response = await fetch(url, { method: "POST", body, headers: { "content-type": contentType } });
  return response.json();
}

test("an urlencoded body has its fields by name", async () => {
  await using service = await startService();
  expect(await post(service.url, "grant=a%3Ab&text=one+two%26&empty=")).toEqual({
    grant: "a:b",
    text: "one two&",
    empty: "",
  });
  expect(await post(service.url, "__proto__=x&a=%C3%A9", `${type}; charset=utf-8`)).toHaveProperty("a", "é");
});

const fields = (count: number): string => Array.from({ length: count }, (_, index) => `f${index}=`).join("&");

test("a repeated field, another content type, bytes that are no text and many fields are refused", async () => {
  await using service = await startService();
  expect(await post(service.url, "a=1&b=2&a=1")).toEqual({ error: "malformed" });
  expect(await post(service.url, '{"a":"1"}', "application/json")).toEqual({ error: "not-a-form" });
  expect(await post(service.url, "a=1", `${type}x`)).toEqual({ error: "not-a-form" });
  expect(await post(service.url, new Uint8Array([97, 61, 255]))).toEqual({ error: "malformed" });
  expect(await post(service.url, fields(65))).toEqual({ error: "too-complex" });
  expect(await post(service.url, fields(64))).toHaveProperty("f63", "");
});
