import { expect, test } from "vitest";
import { splitTurns } from "./turn-splitter.ts";

const continued = "HTTP/1.1 100 Continue\r\n\r\n";
const head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";

test("an interim answer and the real one in the same bytes are two heads and a body", () => {
  expect(describePieces(splitTurns().split(Buffer.from(`${continued}${head}body`), true))).toEqual([
    ["head", continued, true],
    ["head", head, false],
    ["body", "body", false],
  ]);
});

test("a request is a head and a body like an answer", () => {
  const request = "PUT /v2/test/blobs/1 HTTP/1.1\r\nContent-Length: 4\r\n\r\n";
  expect(describePieces(splitTurns().split(Buffer.from(`${request}body`), true))).toEqual([
    ["head", request, true],
    ["body", "body", false],
  ]);
});

test.each(["GGUF\u0003\u0000\u0000", "PING\r\n", "lower case", "HTTP/1.1 200 OK\n\n"])(
  "%j is no HTTP and passes at once",
  (text) => {
    expect(describePieces(splitTurns().split(Buffer.from(text), true))).toEqual([["body", text, true]]);
  },
);

test("an endless head is given up and passes as a body", () => {
  const splitter = splitTurns();
  const start = Buffer.from("HTTP/1.1 200 OK\r\n");
  const filler = Buffer.alloc(70_000, "x");

  expect(splitter.split(start, true)).toEqual([]);
  expect(splitter.split(filler, false).map(({ part, bytes }) => [part, bytes.length])).toEqual([
    ["body", start.length + filler.length],
  ]);
});

function describePieces(pieces: ReturnType<ReturnType<typeof splitTurns>["split"]>): unknown[] {
  return pieces.map(({ part, bytes, startsTurn }) => [part, bytes.toString(), startsTurn]);
}
