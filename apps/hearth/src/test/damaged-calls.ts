import type { JsonObject } from "@hearth-and-keep/engine";
import { genericFormat, toolCallFormats } from "../generation/tool-calls/formats.ts";

/** Output of a model in which a call is damaged, and what must become of it on every path. */
export type DamagedCall = {
  readonly format: string;
  readonly damage: string;
  readonly template: string | null;
  readonly chunks: readonly string[];
  readonly reason: "stop" | "length";
  /** Absent if the output is not a call. */
  readonly name?: string;
  /** Absent if the damage destroys them. */
  readonly arguments?: JsonObject;
};

export const toolName = "weather";
export const parameters = {
  type: "object",
  properties: {
    city: { type: "string" },
    days: { type: "integer" },
    isLong: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
  },
} as const;

/** The arguments of a call. */
type Given = {
  readonly city: string;
  readonly days: number | string;
  readonly isLong: boolean;
  readonly tags: readonly string[];
};

type WriteCall = (name: string, json: string, given: Given) => string;

/** How each format writes a call whose arguments are the given JSON text. */
const jsonWriters: Readonly<Record<string, WriteCall>> = {
  deepseek: (name, json) =>
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${json}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  "kimi-k2": (name, json) =>
    `<|tool_calls_section_begin|><|tool_call_begin|>${name}<|tool_call_argument_begin|>${json}<|tool_call_end|><|tool_calls_section_end|>`,
  solar: (name, json) =>
    `<|tool_calls|><|tool_call:begin|>id1<|tool_call:name|>${name}<|tool_call:args|>${json}<|tool_call:end|>`,
  "functionary-3.1": (name, json) => `<function=${name}>${json}</function>`,
  mistral: (name, json) => `[TOOL_CALLS]${name}[ARGS]${json}`,
  apertus: (name, json) => `<|tools_prefix|>[{"${name}": ${json}}]<|tools_suffix|>`,
  harmony: (name, json) => `<|channel|>commentary to=${name} <|constrain|>json<|message|>${json}<|call|>`,
  "command-r-plus": (name, json) => `Action:\n\`\`\`json\n[${callObject(name, json)}]\n\`\`\``,
  firefunction: (name, json) => `functools[${callObject(name, json)}]`,
  "nemotron-nano": (name, json) => `<TOOLCALL>[${callObject(name, json)}]</TOOLCALL>`,
  generic: callObject,
};

function callObject(name: string, json: string): string {
  return `{"name": "${name}", "arguments": ${json}}`;
}

/** The other formats of JSON objects: their opening tag, a call, their closing tag. */
const plainJson = [
  "hermes",
  "llama-3",
  "command-r7b",
  "granite-3-phi-4",
  "gigachat-3.1",
  "gigachat-3",
  "minimax-m1-apriel",
];

type Damage = {
  readonly name: string;
  readonly json?: (text: string) => string;
  readonly tool?: string;
  /** Of formats without JSON. */
  readonly change?: (given: Given) => Given;
  readonly output?: (text: string, given: Given) => string;
  readonly reason?: "length";
  /** The arguments that remain; absent if unknown. */
  readonly expected?: (given: Given) => JsonObject;
};

const same = (given: Given): JsonObject => given;

/** Kinds of damage to the JSON of a call. */
const damages: readonly Damage[] = [
  { name: "none", expected: same },
  { name: "missing close tag", output: (text) => text.slice(0, text.lastIndexOf("}") + 1), expected: same },
  { name: "missing brackets", output: (text) => text.slice(0, text.indexOf("]}") + 1), expected: same },
  {
    name: "end within a string",
    output: (text) => text.slice(0, text.indexOf('"city": "') + 11),
    expected: ({ city }) => ({ city: city.slice(0, 2) }),
  },
  {
    name: "end after a comma",
    output: (text) => text.slice(0, text.indexOf(', "days"') + 2),
    expected: ({ city }) => ({ city }),
  },
  {
    name: "end after a key",
    output: (text) => text.slice(0, text.indexOf('"days":') + 7),
    expected: ({ city }) => ({ city }),
  },
  {
    name: "raw line break",
    json: (text) => text.replace('"city": "', '"city": "\n'),
    expected: (given) => ({ ...given, city: `\n${given.city}` }),
  },
  { name: "trailing comma", json: (text) => text.replace("]}", "],}"), expected: same },
  { name: "trailing comma in a list", json: (text) => text.replace("]}", ",]}"), expected: same },
  { name: "missing comma", json: (text) => text.replace(', "days"', ' "days"'), expected: same },
  { name: "single quotes", json: (text) => text.replaceAll('"', "'"), expected: same },
  { name: "bare key", json: (text) => text.replace('"days"', "days"), expected: same },
  { name: "number as a string", json: (text) => text.replace(/: (\d+)/u, ': "$1"'), expected: same },
  {
    name: "Python constant",
    json: (text) => text.replace("true", "True").replace("false", "False"),
    expected: same,
  },
  {
    name: "unknown escape",
    json: (text) => text.replace('"city": "', String.raw`"city": "\d`),
    expected: (given) => ({ ...given, city: String.raw`\d${given.city}` }),
  },
  {
    name: "quotes within a string",
    json: (text) => text.replace('"city": "', '"city": "a "b" '),
    expected: (given) => ({ ...given, city: `a "b" ${given.city}` }),
  },
  { name: "code fence", json: (text) => text, output: fenceJson, expected: same },
  { name: "prefix functions.", tool: `functions.${toolName}`, expected: same },
  { name: "unknown tool", tool: "unheard", expected: same },
  { name: "no arguments at all", output: (text) => text.slice(0, text.indexOf('{"city"')) },
  { name: "no call", output: (text) => text.replace(/[{<[(]?"?(?:name|city)"?/gu, "?") },
  {
    name: "limit within a string",
    reason: "length",
    output: (text) => text.slice(0, text.indexOf('"city": "') + 11),
  },
  {
    name: "limit after a comma",
    reason: "length",
    output: (text) => text.slice(0, text.indexOf(', "days"') + 2),
  },
  {
    name: "limit before the last bracket",
    reason: "length",
    output: (text) => text.slice(0, text.indexOf("]}") + 1),
  },
];

/** Only where the JSON follows the opening tag directly. */
function fenceJson(text: string): string {
  const from = text.indexOf("{");
  const to = text.lastIndexOf("}") + 1;
  return text.includes("```")
    ? text
    : `${text.slice(0, from)}\`\`\`json\n${text.slice(from, to)}\n\`\`\`${text.slice(to)}`;
}

/** How formats without JSON write a call. */
const textWriters: Readonly<Record<string, WriteCall>> = {
  "qwen3-coder": (name, _json, given) =>
    `<tool_call>\n<function=${name}>\n${writeEach(given, (key, value) => `<parameter=${key}>\n${value}\n</parameter>\n`)}</function>\n</tool_call>`,
  "seed-oss": (name, _json, given) =>
    `<seed:tool_call>\n<function=${name}>\n${writeEach(given, (key, value) => `<parameter=${key}>${value}</parameter>\n`)}</function>\n</seed:tool_call>`,
  "glm-4.5": (name, _json, given) =>
    `<tool_call>${name}\n${writeEach(given, (key, value) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>\n`)}</tool_call>`,
  "minimax-m2": (name, _json, given) =>
    `<minimax:tool_call>\n<invoke name="${name}">\n${writeEach(given, (key, value) => `<parameter name="${key}">${value}</parameter>\n`)}</invoke>\n</minimax:tool_call>`,
  "deepseek-dsml": (name, _json, given) =>
    `<｜DSML｜function_calls>\n<｜DSML｜invoke name="${name}">\n${writeEach(given, (key, value) => `<｜DSML｜parameter name="${key}" string="${key === "city"}">${value}</｜DSML｜parameter>\n`)}</｜DSML｜invoke>\n</｜DSML｜function_calls>`,
  "kimi-k3": (name, _json, given) =>
    `<|open|>tools<|sep|><|open|>call tool="${name}"<|sep|>${writeEach(given, (key, value) => `<|open|>argument key="${key}" type="${key === "city" ? "string" : "object"}"<|sep|>${value}<|close|>argument<|sep|>`)}<|close|>call<|sep|><|close|>tools<|sep|>`,
  "hunyuan-3": (name, _json, given) =>
    `<tool_calls:opensource><tool_call:opensource>${name}<tool_sep:opensource>${writeEach(given, (key, value) => `<arg_key:opensource>${key}</arg_key:opensource><arg_value:opensource>${value}</arg_value:opensource>`)}</tool_call:opensource></tool_calls:opensource>`,
  "minicpm-5": (name, _json, given) =>
    `<function name="${name}">${writeEach(given, (key, value) => `<param name="${key}">${key === "city" ? `<![CDATA[${value}]]>` : value}</param>`)}</function>`,
  "minimax-m3": (name, _json, given) =>
    `~<tool_call>\n~<invoke name="${name}">${writeEach(given, (key, value) => `~<${key}>${value.replace(/^\["(.*)"\]$/u, "~<item>$1~</item>")}~</${key}>`)}~</invoke>\n~</tool_call>`.replaceAll(
      "~",
      "]<]minimax[>[",
    ),
  recipients: (name, _json, given) =>
    ` to=${name}<|message|><atem:function_calls>\n<atem:invoke name="${name}">\n${writeEach(given, (key, value) => `<atem:parameter name="${key}">${value}</atem:parameter>\n`)}</atem:invoke>\n</atem:function_calls>`,
  lfm2: (name, _json, given) =>
    `<|tool_call_start|>[${name}(${Object.entries(given)
      .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
      .join(", ")})]<|tool_call_end|>`,
  "gemma-4": (name, _json, given) =>
    `<|tool_call>call:${name}{${Object.entries(given)
      .map(([key, value]) => `${key}:${JSON.stringify(value).replaceAll('"', '<|"|>')}`)
      .join(",")}}<tool_call|>`,
};

function writeEach(given: Given, write: (key: string, value: string) => string): string {
  return Object.entries(given)
    .map(([key, value]) => write(key, typeof value === "string" ? value : JSON.stringify(value)))
    .join("");
}

const beginCity = (text: string, { city }: Given): string => text.slice(0, text.indexOf(city) + 2);
const withoutEnd = (text: string): string => text.slice(0, text.lastIndexOf("]") + 1);

/** Kinds of damage to a call without JSON. */
const textDamages: readonly Damage[] = [
  { name: "none", expected: same },
  { name: "missing last tag", output: (text) => text.slice(0, text.search(/<[^<]*$/u)), expected: same },
  {
    name: "end within a string",
    output: beginCity,
    expected: ({ city }) => ({ city: city.slice(0, 2) }),
  },
  {
    name: "number as a string",
    change: (given) => ({ ...given, days: String(given.days) }),
    expected: same,
  },
  { name: "prefix functions.", tool: `functions.${toolName}`, expected: same },
  { name: "unknown tool", tool: "unheard", expected: same },
  { name: "limit within a string", reason: "length", output: beginCity },
  {
    name: "limit before the last tag",
    reason: "length",
    output: (text) => withoutEnd(text.replace(/\]\)?\]?[^\]]*$/u, "")),
  },
];

/** All formats with all kinds of damage. */
const pairs: readonly { readonly writer: FormatWriter; readonly damage: Damage }[] = [
  ...listWriters().flatMap((writer) => damages.map((damage) => ({ writer, damage }))),
  ...Object.entries(textWriters).flatMap(([format, write]) => {
    const writer = { format, write, template: templateOf(format) };
    return textDamages.map((damage) => ({ writer, damage }));
  }),
];

export const damageKinds = new Set([...damages, ...textDamages].map(({ name }) => name)).size;

/** A prime number, so that a small number of calls has samples of all formats. */
const stride = 131;

/** The nth damaged call; the same number always gives the same one. */
export function damagedCall(index: number): DamagedCall {
  const random = createRandom(index);
  const { writer, damage } = pairs[(index * stride) % pairs.length] ?? raise();
  const { format, template, write } = writer;
  const given = {
    city: `${pick(random, ["Köln", "Bern", "San José", "A & B", "x < y"])} ${Math.floor(random() * 100)}`,
    days: Math.floor(random() * 20),
    isLong: random() < 0.5,
    tags: [pick(random, ["a", "b, c", "{d}"])],
  };
  const json = writeJson(given);
  const name = damage.tool ?? toolName;
  const written = write(name, damage.json?.(json) ?? json, damage.change?.(given) ?? given);
  const expected = damage.reason === "length" ? undefined : damage.expected?.(given);
  // Without a tag, only a tool that is offered makes an object a call.
  const isUnmarked = format === "generic" && damage.tool !== undefined;
  return {
    format,
    template,
    damage: damage.name,
    chunks: splitText(damage.output?.(written, given) ?? written, random),
    reason: damage.reason ?? "stop",
    ...(expected === undefined || isUnmarked
      ? {}
      : { arguments: expected, name: name.replace(/^functions\./u, "") }),
  };
}

function writeJson(given: Given): string {
  const members = Object.entries(given).map(([key, value]) => `"${key}": ${JSON.stringify(value)}`);
  return `{${members.join(", ")}}`;
}

type FormatWriter = { readonly format: string; readonly template: string | null; readonly write: WriteCall };

function listWriters(): readonly FormatWriter[] {
  const plain = plainJson.map((name): [string, WriteCall] => {
    const { openings, hidden } = toolCallFormats.find((each) => each.name === name) ?? genericFormat;
    return [name, (tool, json) => `${openings[0]}${callObject(tool, json)}${hidden[0] ?? ""}`];
  });
  return [...Object.entries(jsonWriters), ...plain].map(([format, write]) => ({
    format,
    write,
    template: templateOf(format),
  }));
}

function templateOf(format: string): string | null {
  if (format === "harmony") return "<|channel|><|message|><|call|>";
  if (format === "recipients") return "<atem:invoke name= <|message|>";
  const found = toolCallFormats.find(({ name }) => name === format);
  return found === undefined ? null : (found.templateMarkers[0] ?? []).join(" ");
}

function splitText(text: string, random: () => number): readonly string[] {
  const chunks: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = 1 + Math.floor(random() * 12);
    chunks.push(text.slice(at, at + length));
    at += length;
  }
  return chunks;
}

function pick<Item>(random: () => number, items: readonly [Item, ...Item[]]): Item {
  return items[Math.floor(random() * items.length)] ?? items[0];
}

function createRandom(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function raise(): never {
  throw new Error("There are no formats");
}
