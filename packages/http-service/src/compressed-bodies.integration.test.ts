import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BodyError, createHttpService, type HttpService, jsonResponse } from "./index.ts";

const maxBodyBytes = 1000;
let service: HttpService;
let url = "";

beforeAll(async () => {
  service = createHttpService({
    routes: [{ method: "POST", path: "/echo", handle: ({ body }) => jsonResponse({ body: body ?? null }) }],
    contentEncodings: ["gzip", "zstd"],
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

async function send(body: Uint8Array<ArrayBuffer> | string, encoding = "zstd"): Promise<unknown> {
  const headers = { "content-encoding": encoding };
  const response = await fetch(`${url}/echo`, { method: "POST", headers, body });
  return response.json();
}

const compress = (text: string) => Uint8Array.from(zstdCompressSync(text));
const zip = (text: string) => Uint8Array.from(gzipSync(text));
const textOf = (length: number) => JSON.stringify("x".repeat(length - 2));
const value = { name: "Grüße, 東京" };

test("a body in gzip or zstd is decompressed; any other encoding is named in the error", async () => {
  const text = JSON.stringify(value);
  expect(await send(compress(text))).toEqual({ body: value });
  expect(await send(compress(text), "ZSTD")).toEqual({ body: value });
  expect(await send(zip(text), "gzip")).toEqual({ body: value });
  expect(await send(text, "identity")).toEqual({ body: value });
  expect(await send(Uint8Array.from(deflateSync(text)), "deflate")).toEqual({
    error: "encoding-not-supported",
  });
  expect(await send(zip(text), "gzip, gzip")).toEqual({ error: "encoding-not-supported" });
});

test("the body limit applies to the decompressed size", async () => {
  expect(compress(textOf(1_000_000)).length).toBeLessThan(maxBodyBytes);
  expect(await send(compress(textOf(1_000_000)))).toEqual({ error: "too-large" });
  expect(await send(compress(textOf(maxBodyBytes + 1)))).toEqual({ error: "too-large" });
  expect(await send(zip(textOf(1_000_000)), "gzip")).toEqual({ error: "too-large" });
  expect(await send(compress(textOf(maxBodyBytes)))).toEqual({
    body: "x".repeat(maxBodyBytes - 2),
  });
});

test("truncated or invalid compressed JSON is malformed, and an empty body is no body", async () => {
  const complete = compress(JSON.stringify({ text: "a".repeat(50), more: "bcdefghijk" }));
  expect(await send(complete.slice(0, -4))).toEqual({ error: "malformed" });
  expect(await send("{}")).toEqual({ error: "malformed" });
  expect(await send(zip("{}").slice(0, -4), "gzip")).toEqual({ error: "malformed" });
  expect(await send("{}", "gzip")).toEqual({ error: "malformed" });
  expect(await send(compress("{"))).toEqual({ error: "malformed" });
  expect(await send(compress('{"__proto__":{}}'))).toEqual({ error: "malformed" });
  expect(await send(compress(" "))).toEqual({ body: null });
});

test("a zstd frame with a 16 MB window is rejected, one with 8 MB is accepted", async () => {
  // Magic number, a frame header without a content size, a window of 2^24 bytes, one empty last block.
  const greedy = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 14 << 3, 0x01, 0x00, 0x00]);
  const modest = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 13 << 3, 0x01, 0x00, 0x00]);
  expect(await send(greedy)).toEqual({ error: "malformed" });
  expect(await send(modest)).toEqual({ body: null });
});
