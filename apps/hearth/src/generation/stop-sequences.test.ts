import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AnswerEvent } from "./splitting/split-events.ts";
import { holdBackStops } from "./stop-sequences.ts";
import { byteByByte, cutAtEveryByte, plainPlan, readAnswer } from "./test/read-answer.ts";

const cases = [
  { rule: "one stop sequence", stops: ["END"], said: "Hello END more", text: "Hello ", stop: "END" },
  {
    rule: "several, the earliest wins",
    stops: ["two", "one"],
    said: "say one two",
    text: "say ",
    stop: "one",
  },
  {
    rule: "the longest of those at one place",
    stops: ["\n", "\n\n"],
    said: "a\n\nb",
    text: "a",
    stop: "\n\n",
  },
  {
    rule: "the shorter when the longer does not complete",
    stops: ["\n", "\n\n"],
    said: "a\nb",
    text: "a",
    stop: "\n",
  },
  { rule: "one inside a longer that fails", stops: ["b", "abc"], said: "xabd", text: "xa", stop: "b" },
  { rule: "one inside a longer that never ends", stops: ["b", "abc"], said: "xab", text: "xa", stop: "b" },
  { rule: "one that repeats its own beginning", stops: ["aab"], said: "xaaab", text: "xa", stop: "aab" },
  { rule: "characters of several bytes", stops: ["é😀"], said: "éé😀!", text: "é", stop: "é😀" },
  {
    rule: "a character whose bytes begin like another's",
    stops: ["😁"],
    said: "😀😁😂",
    text: "😀",
    stop: "😁",
  },
  { rule: "one at the very beginning", stops: ["Hi"], said: "Hi there", text: "", stop: "Hi" },
  { rule: "one at the very end", stops: ["there"], said: "Hi there", text: "Hi ", stop: "there" },
  { rule: "no stop sequence", stops: ["END"], said: "Hello ENd", text: "Hello ENd", stop: undefined },
  {
    rule: "half a stop sequence at the end, which is text",
    stops: ["END"],
    said: "Hello EN",
    text: "Hello EN",
    stop: undefined,
  },
  {
    rule: "an empty stop sequence, which is none",
    stops: [""],
    said: "Hello",
    text: "Hello",
    stop: undefined,
  },
];

describe("a stop sequence ends the text, is never shown and is reported, cut at every byte", () => {
  test.for(cases)("$rule", async ({ stops, said, text, stop }) => {
    for (const parts of [...cutAtEveryByte(said), byteByByte(said)]) {
      const answer = await readAnswer(parts, { ...plainPlan, stops });
      expect(answer.text, JSON.stringify(parts)).toBe(text);
      expect(answer.end?.stopSequence).toBe(stop);
      expect(answer.end?.reason).toBe(stop === undefined ? "stop" : "stop-sequence");
    }
  });
});

test("what cannot be part of a stop sequence goes on at once, the rest when it is decided", async () => {
  const arrived: string[] = [];
  async function* say(): AsyncGenerator<AnswerEvent> {
    yield { type: "text-delta", text: "Hello E" };
    arrived.push("|");
    yield { type: "text-delta", text: "N" };
    arrived.push("|");
    yield { type: "text-delta", text: "d." };
  }
  for await (const event of holdBackStops(say(), ["END"])) {
    if (event.type === "text-delta") arrived.push(event.text);
  }
  expect(arrived).toEqual(["Hello ", "|", "|", "ENd."]);
});

test("a match leaves the source, no match reads it to its end", async () => {
  for (const { stops, left } of [
    { stops: ["b"], left: "left" },
    { stops: ["z"], left: "read" },
  ]) {
    let how = "left";
    let isClosed = false;
    async function* say(): AsyncGenerator<AnswerEvent> {
      try {
        for (const text of ["a", "b", "c"]) yield { type: "text-delta", text };
        how = "read";
      } finally {
        isClosed = true;
      }
    }
    await Array.fromAsync(holdBackStops(say(), stops));
    expect(how).toBe(left);
    expect(isClosed).toBe(true);
  }
});

test("text held back is told before the call that follows it, and no stop sequence reaches over a call", async () => {
  const said: AnswerEvent[] = [
    { type: "text-delta", text: "look E" },
    { type: "tool-call-start", index: 0, id: "call_1", name: "find" },
    { type: "text-delta", text: "ND" },
  ];
  const events = await Array.fromAsync(holdBackStops(ReadableStream.from(said), ["END"]));
  expect(events.map((event) => (event.type === "text-delta" ? event.text : event.type))).toEqual([
    "look ",
    "E",
    "tool-call-start",
    "ND",
  ]);
});

test("for random texts, stops and cuts the text before the first stop is shown, whatever the cuts", async () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀"), maxLength: 12 });
  const stop = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀"), minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(letters, fc.array(stop, { maxLength: 3 }), async (said, stops) => {
      const places = stops.map((text) => said.indexOf(text)).filter((at) => at !== -1);
      const expected = said.slice(0, Math.min(said.length, ...places));
      for (const parts of [...cutAtEveryByte(said), byteByByte(said)]) {
        expect((await readAnswer(parts, { ...plainPlan, stops })).text).toBe(expected);
      }
    }),
    { numRuns: 200 },
  );
});
