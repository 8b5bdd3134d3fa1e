import type { Tool } from "@hearth-and-keep/engine";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import { beforeAll, expect, test } from "vitest";
import { type AnswerPlan, detectAnswerFormat } from "../split-answer.ts";
import {
  type Answer,
  byteByByte,
  cutAt,
  cutAtEveryByte,
  cutAtRandom,
  readAnswer,
} from "../test/read-answer.ts";
import { type CallToRender, type RenderedFamily, renderFamilies } from "../test/render-families.ts";

const weather: CallToRender = {
  id: "abcdefghi",
  name: "get_weather",
  arguments: { city: 'Köln "am" Rhein\n{é} 😀', days: 2 },
};
const alarm: CallToRender = {
  id: "jklmnopqr",
  name: "set_alarm",
  arguments: { time: "07:00", options: { list: [1, true, "x"], note: "ä" } },
};
const tools: readonly Tool[] = [
  { name: weather.name, parameters: { properties: { city: { type: "string" }, days: { type: "integer" } } } },
  { name: alarm.name, parameters: { properties: { time: { type: "string" }, options: { type: "object" } } } },
];
const textBefore = "Let me look – 😀.";
const textAfter = " That is all: é < 3.";
const neededFamilies = 20;

/** Templates that render a call in a way we do not read; each would need a reader of its own. */
const unread = ["MiniMax-M3", "muse-glimmer", "openbmb-MiniCPM5-1B"];

type Said = { readonly said: string; readonly calls: readonly CallToRender[]; readonly text: string };
type Family = {
  readonly template: string;
  readonly format: string;
  readonly plan: AnswerPlan;
  readonly says: Said[];
};

let families: Family[] = [];

beforeAll(async () => {
  const rendered = await renderFamilies([
    { content: null, calls: [weather] },
    { content: null, calls: [alarm] },
    { content: null, calls: [weather, alarm] },
    { content: textBefore, calls: [weather] },
  ]);
  families = rendered.filter(({ template }) => !unread.includes(template)).flatMap(toFamily);
}, 600_000);

test("a call rendered by a family's own template parses back to the same call, cut at every byte", async () => {
  let readings = 0;
  for (const family of onePerFormat()) {
    for (const said of family.says) {
      for (const parts of everyCut(said.said)) {
        expectSame(await readAnswer(parts, family.plan), said, family.template);
        readings += 1;
      }
    }
  }
  const formats = new Set(families.map(({ format }) => format));
  expect(formats.size, [...formats].join(" ")).toBeGreaterThanOrEqual(neededFamilies);
  const text = `${formats.size} families, ${families.length} templates, ${readings} readings of one call, two parallel calls and text around, all equal`;
  process.stdout.write(`${text}\n${[...formats].toSorted().join(" ")}\n`);
  recordFigure({ claim: "engine 12", text, counted: { reached: formats.size, needed: 10 } });
}, 300_000);

test("every template that renders calls is read, whole and byte by byte", async () => {
  for (const { template, plan, says } of families) {
    for (const said of says) {
      expectSame(await readAnswer([said.said], plan), said, template);
      expectSame(await readAnswer(byteByByte(said.said), plan), said, template);
    }
  }
  expect(families.length).toBeGreaterThanOrEqual(45);
}, 120_000);

test("an answer cut off by its limit at any byte shows no tag and no half call", async () => {
  let cut = 0;
  for (const { template, plan, says } of onePerFormat()) {
    for (const { said, text } of says) {
      for (const [part = ""] of cutAtEveryByte(said)) {
        const answer = await readAnswer([part], plan, "length");
        expect(flat(text).startsWith(flat(answer.text)), `${template}: ${part} → ${answer.text}`).toBe(true);
        expect(answer.failures.filter(({ reason }) => reason !== "unfinished")).toEqual([]);
        expect(answer.end?.reason).toBe("length");
        cut += 1;
      }
    }
  }
  expect(cut).toBeGreaterThan(5000);
}, 300_000);

/** One template for each way of writing: a family's older and newer models differ in the opening. */
function onePerFormat(): Family[] {
  if (scale === "nightly") return families;
  const groups = Map.groupBy(families, ({ format, says }) => `${format} ${says[0]?.said.slice(0, 20)}`);
  return [...groups.values()].flatMap(([first]) => first ?? []);
}

function everyCut(text: string): string[][] {
  const seeds = Array.from({ length: scale === "nightly" ? 200 : 20 }, (_, seed) => seed);
  return [
    ...cutAtEveryByte(text),
    byteByByte(text),
    cutAt(text, []),
    ...seeds.map((seed) => cutAtRandom(text, seed)),
  ];
}

function expectSame(answer: Answer, said: Said, template: string): void {
  const place = `${template}: ${said.said}`;
  expect(answer.failures, place).toEqual([]);
  expect(
    answer.calls.map(({ name, arguments: given }) => ({ name, given })),
    place,
  ).toEqual(said.calls.map(({ name, arguments: given }) => ({ name, given })));
  for (const call of answer.calls) expect(JSON.parse(call.argumentsText), place).toEqual(call.arguments);
  expect(flat(answer.text), place).toBe(flat(said.text));
  expect(answer.reasoning, place).toBe("");
  expect(answer.end?.reason).toBe("tool-calls");
}

/** White space between text and calls belongs to the family's template. */
function flat(text: string): string {
  return text.replaceAll(/\s+/gu, " ").trim();
}

function toFamily({ template, source, answers }: RenderedFamily): Family[] {
  const [one, other, both, withText] = answers;
  if (one === null || one === undefined || other === null || other === undefined) return [];
  const format = detectAnswerFormat(source);
  const name = format.type === "tags" ? format.toolCalls.name : format.type;
  const own = compositions[name] ?? {};
  const rendersText = withText?.said.includes(textBefore) === true && withText.said.includes(weather.name);
  const before = own.before ?? (rendersText ? withText.said : `${textBefore}\n${one.said}`);
  const around = typeof before === "string" ? before : before(one.said);
  const says: Said[] = [
    { said: one.said, calls: [weather], text: "" },
    { said: both?.said ?? one.said + (own.between ?? "") + other.said, calls: [weather, alarm], text: "" },
    { said: around + (own.after ?? "") + textAfter, calls: [weather], text: textBefore + textAfter },
  ];
  const isClosing =
    format.type === "tags" && format.reasoning !== undefined && one.said.includes(format.reasoning.close);
  const isOpening = format.type === "tags" && format.reasoning?.opens.some((open) => one.said.includes(open));
  const plan = { format, tools, stops: [], startsInReasoning: isClosing && isOpening !== true };
  return [{ template, format: name, plan, says }];
}

type Composition = {
  readonly between?: string;
  readonly before?: (call: string) => string;
  readonly after?: string;
};

/** What a family writes where its template renders no such turn. */
const compositions: Readonly<Record<string, Composition>> = {
  "llama-3": { between: "; ", before: (call) => `${textBefore}<|python_tag|>${call}` },
  harmony: {
    between: "<|start|>assistant",
    before: (call) => `<|channel|>commentary<|message|>${textBefore}<|end|><|start|>assistant${call}`,
    after: "<|start|>assistant<|channel|>final<|message|>",
  },
  "functionary-3.2": { after: ">>>all\n" },
};
