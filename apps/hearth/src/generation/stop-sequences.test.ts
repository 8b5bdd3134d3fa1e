import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holdBackStops } from "./split-output.ts";
import type { SplitEvent } from "./stream-parser/split-events.ts";
import { byteByByte, collectOutput, plainPlan, splitAtEveryByte } from "./test/collect-output.ts";

const cases = [
  { rule: "one stop sequence", stops: ["END"], output: "Hello END more", text: "Hello ", stop: "END" },
  {
    rule: "several, the earliest wins",
    stops: ["two", "one"],
    output: "say one two",
    text: "say ",
    stop: "one",
  },
  {
    rule: "the longest of those at one position",
    stops: ["\n", "\n\n"],
    output: "a\n\nb",
    text: "a",
    stop: "\n\n",
  },
  {
    rule: "the shorter when the longer does not complete",
    stops: ["\n", "\n\n"],
    output: "a\nb",
    text: "a",
    stop: "\n",
  },
  { rule: "one inside a longer that fails", stops: ["b", "abc"], output: "xabd", text: "xa", stop: "b" },
  { rule: "one inside a longer that never ends", stops: ["b", "abc"], output: "xab", text: "xa", stop: "b" },
  { rule: "one that repeats its own start", stops: ["aab"], output: "xaaab", text: "xa", stop: "aab" },
  { rule: "characters of several bytes", stops: ["é😀"], output: "éé😀!", text: "é", stop: "é😀" },
  {
    rule: "a character whose bytes start like another's",
    stops: ["😁"],
    output: "😀😁😂",
    text: "😀",
    stop: "😁",
  },
  { rule: "one at the very start", stops: ["Hi"], output: "Hi there", text: "", stop: "Hi" },
  { rule: "one at the very end", stops: ["there"], output: "Hi there", text: "Hi ", stop: "there" },
  { rule: "no stop sequence", stops: ["END"], output: "Hello ENd", text: "Hello ENd", stop: undefined },
  {
    rule: "a partial stop sequence at the end, which is text",
    stops: ["END"],
    output: "Hello EN",
    text: "Hello EN",
    stop: undefined,
  },
  {
    rule: "an empty stop sequence, which is ignored",
    stops: [""],
    output: "Hello",
    text: "Hello",
    stop: undefined,
  },
];

describe("a stop sequence ends the text, is never emitted and is reported, split at every byte", () => {
  test.for(cases)("$rule", async ({ stops, output, text, stop }) => {
    for (const chunks of [...splitAtEveryByte(output), byteByByte(output)]) {
      const result = await collectOutput(chunks, { ...plainPlan, stops });
      expect(result.text, JSON.stringify(chunks)).toBe(text);
      expect(result.end?.stopSequence).toBe(stop);
      expect(result.end?.reason).toBe(stop === undefined ? "stop" : "stop-sequence");
    }
  });
});

test("text that cannot be part of a stop sequence is emitted at once, the rest once it is decided", async () => {
  const arrived: string[] = [];
  async function* write(): AsyncGenerator<SplitEvent> {
    yield { type: "text-delta", text: "Hello E" };
    arrived.push("|");
    yield { type: "text-delta", text: "N" };
    arrived.push("|");
    yield { type: "text-delta", text: "d." };
  }
  for await (const event of holdBackStops(write(), ["END"])) {
    if (event.type === "text-delta") arrived.push(event.text);
  }
  expect(arrived).toEqual(["Hello ", "|", "|", "ENd."]);
});

test("a match closes the source early; otherwise it is read to its end", async () => {
  for (const { stops, left } of [
    { stops: ["b"], left: "left" },
    { stops: ["z"], left: "read" },
  ]) {
    let how = "left";
    let isClosed = false;
    async function* write(): AsyncGenerator<SplitEvent> {
      try {
        for (const text of ["a", "b", "c"]) yield { type: "text-delta", text };
        how = "read";
      } finally {
        isClosed = true;
      }
    }
    await Array.fromAsync(holdBackStops(write(), stops));
    expect(how).toBe(left);
    expect(isClosed).toBe(true);
  }
});

test("held-back text is emitted before the call that follows it, and no stop sequence spans a call", async () => {
  const output: SplitEvent[] = [
    { type: "text-delta", text: "look E" },
    { type: "tool-call-start", index: 0, id: "call_1", name: "find" },
    { type: "text-delta", text: "ND" },
  ];
  const events = await Array.fromAsync(holdBackStops(ReadableStream.from(output), ["END"]));
  expect(events.map((event) => (event.type === "text-delta" ? event.text : event.type))).toEqual([
    "look ",
    "E",
    "tool-call-start",
    "ND",
  ]);
});

test("for random texts and stops, the text before the first stop is emitted, whatever the chunk boundaries", async () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀"), maxLength: 12 });
  const stop = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀"), minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(letters, fc.array(stop, { maxLength: 3 }), async (output, stops) => {
      const offsets = stops.map((text) => output.indexOf(text)).filter((at) => at !== -1);
      const expected = output.slice(0, Math.min(output.length, ...offsets));
      for (const chunks of [...splitAtEveryByte(output), byteByByte(output)]) {
        expect((await collectOutput(chunks, { ...plainPlan, stops })).text).toBe(expected);
      }
    }),
    { numRuns: 200, seed: 1 },
  );
});
