import { expect, test } from "vitest";
import { splitTurns } from "./turn-splitter.ts";

const continued = "HTTP/1.1 100 Continue\r\n\r\n";
const head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";

test("an interim and a final response in the same chunk are two heads and a body", () => {
  expect(describeChunks(splitTurns().split(Buffer.from(`${continued}${head}body`), true))).toEqual([
    ["head", continued, true],
    ["head", head, false],
    ["body", "body", false],
  ]);
});

test("a request is split into a head and a body like a response", () => {
  const request = "PUT /v2/test/blobs/1 HTTP/1.1\r\nContent-Length: 4\r\n\r\n";
  expect(describeChunks(splitTurns().split(Buffer.from(`${request}body`), true))).toEqual([
    ["head", request, true],
    ["body", "body", false],
  ]);
});

test.each(["GGUF\u0003\u0000\u0000", "PING\r\n", "lower case", "HTTP/1.1 200 OK\n\n"])(
  "%j is not HTTP and passes immediately",
  (text) => {
    expect(describeChunks(splitTurns().split(Buffer.from(text), true))).toEqual([["body", text, true]]);
  },
);

test("an oversized head passes as a body", () => {
  const splitter = splitTurns();
  const start = Buffer.from("HTTP/1.1 200 OK\r\n");
  const filler = Buffer.alloc(70_000, "x");

  expect(splitter.split(start, true)).toEqual([]);
  expect(splitter.split(filler, false).map(({ part, bytes }) => [part, bytes.length])).toEqual([
    ["body", start.length + filler.length],
  ]);
});

function describeChunks(chunks: ReturnType<ReturnType<typeof splitTurns>["split"]>): unknown[] {
  return chunks.map(({ part, bytes, startsTurn }) => [part, bytes.toString(), startsTurn]);
}
