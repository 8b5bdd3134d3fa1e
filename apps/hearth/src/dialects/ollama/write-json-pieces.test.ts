import { expect, test } from "vitest";
import { LazyList } from "../../models/metadata/flatten-metadata.ts";
import { streamJson } from "./write-json-pieces.ts";

async function read(value: unknown): Promise<{ readonly text: string; readonly pieces: number }> {
  const pieces: string[] = [];
  for await (const piece of streamJson(value).chunks) pieces.push(piece);
  return { text: pieces.join(""), pieces: pieces.length };
}

test.each([{}, { a: 1, b: null, c: "ü\n", d: { e: [1, { f: true }] } }, [], "text", { list: [] }])(
  "%j is written as JSON.stringify writes it",
  async (value) => expect((await read(value)).text).toBe(JSON.stringify(value)),
);

test("a lazy list is written as an array, in pieces", async () => {
  const items = Array.from({ length: 100_000 }, (_none, index) => `token ${index}`);
  const { text, pieces } = await read({ list: new LazyList(items), empty: new LazyList([]) });
  expect(JSON.parse(text)).toEqual({ list: items, empty: [] });
  expect(pieces).toBeGreaterThan(10);
});

test("other work runs between the pieces of a slow list", async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  const slow = function* () {
    for (let index = 0; index < 20; index += 1) {
      const until = performance.now() + 12;
      while (performance.now() < until);
      yield index;
    }
  };
  await read(new LazyList(slow()));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});
