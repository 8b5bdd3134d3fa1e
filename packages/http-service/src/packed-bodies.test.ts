import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BodyProblem, createHttpService, type HttpService, jsonAnswer } from "./index.ts";

const mostBodyBytes = 1000;
let service: HttpService;
let url = "";

beforeAll(async () => {
  service = createHttpService({
    routes: [
      {
        method: "POST",
        path: "/packed",
        packing: "zstd",
        handle: ({ body }) => jsonAnswer({ body: body ?? null }),
      },
      { method: "POST", path: "/plain", handle: ({ body }) => jsonAnswer({ body: body ?? null }) },
    ],
    mostBodyBytes,
    answerFailure: (problem) =>
      jsonAnswer({ problem: problem instanceof BodyProblem ? problem.reason : "other" }, 400),
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

const packed = (text: string) => Uint8Array.from(zstdCompressSync(text));
const textOf = (length: number) => JSON.stringify("x".repeat(length - 2));
const thing = { name: "Grüße, 東京" };

test("a packed body is read like a plain one, by a row that says so and by no other", async () => {
  expect(await send("/packed", packed(JSON.stringify(thing)))).toEqual({ body: thing });
  expect(await send("/packed", packed(JSON.stringify(thing)), "ZSTD")).toEqual({ body: thing });
  expect(await send("/packed", JSON.stringify(thing), "identity")).toEqual({ body: thing });
  expect(await send("/plain", packed(JSON.stringify(thing)))).toEqual({ problem: "malformed" });
  expect(await send("/packed", Uint8Array.from(gzipSync("{}")), "gzip")).toEqual({ problem: "malformed" });
});

test("a small body that unpacks to more than the limit is refused, one that unpacks to the limit is read", async () => {
  expect(packed(textOf(1_000_000)).length).toBeLessThan(mostBodyBytes);
  expect(await send("/packed", packed(textOf(1_000_000)))).toEqual({ problem: "too-large" });
  expect(await send("/packed", packed(textOf(mostBodyBytes + 1)))).toEqual({ problem: "too-large" });
  expect(await send("/packed", packed(textOf(mostBodyBytes)))).toEqual({
    body: "x".repeat(mostBodyBytes - 2),
  });
});

test("what is no whole packed JSON is malformed, and one that is empty is none", async () => {
  const whole = packed(JSON.stringify({ text: "a".repeat(50), more: "bcdefghijk" }));
  expect(await send("/packed", whole.slice(0, -4))).toEqual({ problem: "malformed" });
  expect(await send("/packed", "{}")).toEqual({ problem: "malformed" });
  expect(await send("/packed", packed("{"))).toEqual({ problem: "malformed" });
  expect(await send("/packed", packed('{"__proto__":{}}'))).toEqual({ problem: "malformed" });
  expect(await send("/packed", packed(" "))).toEqual({ body: null });
});

test("a frame that demands a window of 16 MB is refused, one that demands 8 MB is not", async () => {
  // Magic number, a frame header without a content size, a window of 2^24 bytes, one empty last block.
  const greedy = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 14 << 3, 0x01, 0x00, 0x00]);
  const modest = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 13 << 3, 0x01, 0x00, 0x00]);
  expect(await send("/packed", greedy)).toEqual({ problem: "malformed" });
  expect(await send("/packed", modest)).toEqual({ body: null });
});
