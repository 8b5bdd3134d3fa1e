import type { Tool } from "@hearth-and-keep/engine";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import { beforeAll, expect, test } from "vitest";
import { detectOutputFormat, type OutputPlan } from "../split-output.ts";
import {
  byteByByte,
  type CollectedOutput,
  collectOutput,
  splitAt,
  splitAtEveryByte,
  splitAtRandom,
} from "../test/collect-output.ts";
import { type CallToRender, type RenderedTemplate, renderTemplates } from "../test/render-templates.ts";

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

type Sample = { readonly output: string; readonly calls: readonly CallToRender[]; readonly text: string };
type Family = {
  readonly template: string;
  readonly format: string;
  readonly plan: OutputPlan;
  readonly samples: Sample[];
};

let families: Family[] = [];

beforeAll(async () => {
  const rendered = await renderTemplates([
    { content: null, calls: [weather] },
    { content: null, calls: [alarm] },
    { content: null, calls: [weather, alarm] },
    { content: textBefore, calls: [weather] },
  ]);
  families = rendered.flatMap(toFamily);
}, 600_000);

test("a call rendered by a model's own template parses back to the same call, split at every byte", async () => {
  let parses = 0;
  for (const family of onePerFormat()) {
    for (const sample of family.samples) {
      for (const chunks of splitInManyWays(sample.output)) {
        expectSame(await collectOutput(chunks, family.plan), sample, family.template);
        parses += 1;
      }
    }
  }
  const formats = new Set(families.map(({ format }) => format));
  expect(formats.size, [...formats].join(" ")).toBeGreaterThanOrEqual(neededFamilies);
  const text = `${formats.size} families, ${families.length} templates, ${parses} parses of one call, two parallel calls and calls between text, all equal`;
  process.stdout.write(`${text}\n${[...formats].toSorted().join(" ")}\n`);
  recordFigure({ claim: "engine 12", text, counted: { reached: formats.size, needed: 10 } });
}, 300_000);

test("the calls of every template are parsed, in one chunk and byte by byte", async () => {
  for (const { template, plan, samples } of families) {
    for (const sample of samples) {
      expectSame(await collectOutput([sample.output], plan), sample, template);
      expectSame(await collectOutput(byteByByte(sample.output), plan), sample, template);
    }
  }
  expect(families.length).toBeGreaterThanOrEqual(45);
}, 120_000);

test("output truncated at any byte shows no tag and no partial call", async () => {
  let truncated = 0;
  for (const { template, plan, samples } of onePerFormat()) {
    for (const { output, text } of samples) {
      for (const [chunk = ""] of splitAtEveryByte(output)) {
        const result = await collectOutput([chunk], plan, "length");
        expect(
          normalizeWhitespace(text).startsWith(normalizeWhitespace(result.text)),
          `${template}: ${chunk} → ${result.text}`,
        ).toBe(true);
        expect(result.failures.filter(({ reason }) => reason !== "unfinished")).toEqual([]);
        expect(result.end?.reason).toBe("length");
        truncated += 1;
      }
    }
  }
  expect(truncated).toBeGreaterThan(5000);
}, 300_000);

/** One template per variant of a format: older and newer models of a family differ in the opening. */
function onePerFormat(): Family[] {
  if (scale === "nightly") return families;
  const groups = Map.groupBy(
    families,
    ({ format, samples }) => `${format} ${samples[0]?.output.slice(0, 20)}`,
  );
  return [...groups.values()].flatMap(([first]) => first ?? []);
}

function splitInManyWays(text: string): string[][] {
  const seeds = Array.from({ length: scale === "nightly" ? 200 : 20 }, (_, seed) => seed);
  return [
    ...splitAtEveryByte(text),
    byteByByte(text),
    splitAt(text, []),
    ...seeds.map((seed) => splitAtRandom(text, seed)),
  ];
}

function expectSame(result: CollectedOutput, sample: Sample, template: string): void {
  const description = `${template}: ${sample.output}`;
  expect(result.failures, description).toEqual([]);
  expect(
    result.calls.map(({ name, arguments: given }) => ({ name, given })),
    description,
  ).toEqual(sample.calls.map(({ name, arguments: given }) => ({ name, given })));
  for (const call of result.calls)
    expect(JSON.parse(call.argumentsText), description).toEqual(call.arguments);
  expect(normalizeWhitespace(result.text), description).toBe(normalizeWhitespace(sample.text));
  expect(result.reasoning, description).toBe("");
  expect(result.end?.reason).toBe("tool-calls");
}

/** Whitespace between text and calls depends on the template. */
function normalizeWhitespace(text: string): string {
  return text.replaceAll(/\s+/gu, " ").trim();
}

function toFamily({ template, source, turns }: RenderedTemplate): Family[] {
  const [one, other, both, withText] = turns;
  if (one === null || one === undefined || other === null || other === undefined) return [];
  const format = detectOutputFormat(source);
  const name = format.type === "tags" ? format.toolCalls.name : format.type;
  const composition = compositions[name] ?? {};
  const rendersText =
    withText?.output.includes(textBefore) === true && withText.output.includes(weather.name);
  const before = composition.before ?? (rendersText ? withText.output : `${textBefore}\n${one.output}`);
  const around = typeof before === "string" ? before : before(one.output);
  const samples: Sample[] = [
    { output: one.output, calls: [weather], text: "" },
    {
      output: both?.output ?? one.output + (composition.between ?? "") + other.output,
      calls: [weather, alarm],
      text: "",
    },
    {
      output: around + (composition.after ?? "") + textAfter,
      calls: [weather],
      text: textBefore + textAfter,
    },
  ];
  const isClosing =
    format.type === "tags" && format.reasoning !== undefined && one.output.includes(format.reasoning.close);
  const isOpening =
    format.type === "tags" && format.reasoning?.opens.some((open) => one.output.includes(open));
  const plan = { format, tools, stops: [], startsInReasoning: isClosing && isOpening !== true };
  return [{ template, format: name, plan, samples }];
}

type Composition = {
  readonly between?: string;
  readonly before?: (call: string) => string;
  readonly after?: string;
};

/** How a model writes turns that its template does not render. */
const compositions: Readonly<Record<string, Composition>> = {
  "llama-3": { between: "; ", before: (call) => `${textBefore}<|python_tag|>${call}` },
  harmony: {
    between: "<|start|>assistant",
    before: (call) => `<|channel|>commentary<|message|>${textBefore}<|end|><|start|>assistant${call}`,
    after: "<|start|>assistant<|channel|>final<|message|>",
  },
  "functionary-3.2": { after: ">>>all\n" },
  recipients: {
    before: (call) => ` to=user<|message|>${textBefore}<|eom|><|start|>assistant${call}`,
    after: "<|start|>assistant to=user<|message|>",
  },
};
