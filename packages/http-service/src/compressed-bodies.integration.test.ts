import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BodyError, createHttpService, type HttpService, jsonResponse } from "./index.ts";

const maxBodyBytes = 1000;
let service: HttpService;
let url = "";

beforeAll(async () => {
  service = createHttpService({
    routes: [
      {
        method: "POST",
        path: "/compressed",
        contentEncoding: "zstd",
        handle: ({ body }) => jsonResponse({ body: body ?? null }),
      },
      { method: "POST", path: "/plain", handle: ({ body }) => jsonResponse({ body: body ?? null }) },
    ],
    maxBodyBytes,
    toErrorResponse: (error) =>
      jsonResponse({ error: error instanceof BodyError ? error.reason : "other" }, 400),
    dependencies: undefined,
    authenticate: () => undefined,
    recordRequest: () => undefined,
  });
  ({ url } = await service.listen({ host: "127.0.0.1", port: 0 }));
});

afterAll(() => service.close(0.2));

async function send(
  path: string,
  body: Uint8Array<ArrayBuffer> | string,
  encoding = "zstd",
): Promise<unknown> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-encoding": encoding },
    body,
  });
  return response.json();
}

const compress = (text: string) => Uint8Array.from(zstdCompressSync(text));
const textOf = (length: number) => JSON.stringify("x".repeat(length - 2));
const value = { name: "Grüße, 東京" };

test("a zstd body is decompressed on rows that accept zstd, and on no other", async () => {
  expect(await send("/compressed", compress(JSON.stringify(value)))).toEqual({ body: value });
  expect(await send("/compressed", compress(JSON.stringify(value)), "ZSTD")).toEqual({ body: value });
  expect(await send("/compressed", JSON.stringify(value), "identity")).toEqual({ body: value });
  expect(await send("/plain", compress(JSON.stringify(value)))).toEqual({ error: "malformed" });
  expect(await send("/compressed", Uint8Array.from(gzipSync("{}")), "gzip")).toEqual({ error: "malformed" });
});

test("the body limit applies to the decompressed size", async () => {
  expect(compress(textOf(1_000_000)).length).toBeLessThan(maxBodyBytes);
  expect(await send("/compressed", compress(textOf(1_000_000)))).toEqual({ error: "too-large" });
  expect(await send("/compressed", compress(textOf(maxBodyBytes + 1)))).toEqual({ error: "too-large" });
  expect(await send("/compressed", compress(textOf(maxBodyBytes)))).toEqual({
    body: "x".repeat(maxBodyBytes - 2),
  });
});

test("truncated or invalid compressed JSON is malformed, and an empty body is no body", async () => {
  const complete = compress(JSON.stringify({ text: "a".repeat(50), more: "bcdefghijk" }));
  expect(await send("/compressed", complete.slice(0, -4))).toEqual({ error: "malformed" });
  expect(await send("/compressed", "{}")).toEqual({ error: "malformed" });
  expect(await send("/compressed", compress("{"))).toEqual({ error: "malformed" });
  expect(await send("/compressed", compress('{"__proto__":{}}'))).toEqual({ error: "malformed" });
  expect(await send("/compressed", compress(" "))).toEqual({ body: null });
});

test("a zstd frame with a 16 MB window is rejected, one with 8 MB is accepted", async () => {
  // Magic number, a frame header without a content size, a window of 2^24 bytes, one empty last block.
  const greedy = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 14 << 3, 0x01, 0x00, 0x00]);
  const modest = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 13 << 3, 0x01, 0x00, 0x00]);
  expect(await send("/compressed", greedy)).toEqual({ error: "malformed" });
  expect(await send("/compressed", modest)).toEqual({ body: null });
});
