import { expect, test } from "vitest";
import { LazyList } from "../../models/metadata/flatten-metadata.ts";
import { streamJson } from "./stream-json.ts";

async function read(value: unknown): Promise<{ readonly text: string; readonly chunks: number }> {
  const chunks: string[] = [];
  for await (const chunk of streamJson(value).chunks) chunks.push(chunk);
  return { text: chunks.join(""), chunks: chunks.length };
}

test.each([{}, { a: 1, b: null, c: "ü\n", d: { e: [1, { f: true }] } }, [], "text", { list: [] }])(
  "%j is written as JSON.stringify writes it",
  async (value) => expect((await read(value)).text).toBe(JSON.stringify(value)),
);

test("a lazy list is written as an array, in chunks", async () => {
  const items = Array.from({ length: 100_000 }, (_none, index) => `token ${index}`);
  const { text, chunks } = await read({ list: new LazyList(items), empty: new LazyList([]) });
  expect(JSON.parse(text)).toEqual({ list: items, empty: [] });
  expect(chunks).toBeGreaterThan(10);
});

test("other work runs between the chunks of a slow list", async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await read(new LazyList(countSlowly(20)));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});

function* countSlowly(count: number): Generator<number> {
  for (let index = 0; index < count; index += 1) {
    const until = performance.now() + 12;
    while (performance.now() < until);
    yield index;
  }
}
