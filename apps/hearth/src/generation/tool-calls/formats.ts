import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import type { CallWriter } from "./call-writer.ts";
import { readGemmaCall } from "./gemma-calls.ts";
import { jsonShape, type Outcome, readJsonCalls } from "./json-calls.ts";
import {
  type NamedShape,
  readBareHeader,
  readDeepseekCall,
  readKimiHeader,
  readMistralCalls,
  readNamedJson,
  readRecipient,
  readSolarHeader,
} from "./named-json.ts";
import { readNestedCall, tagPrefix } from "./nested-tags.ts";
import { readPythonicCalls } from "./pythonic-calls.ts";
import { readTaggedCall, type TagShape } from "./tagged-parameters.ts";

/** How a model family writes tool calls: the markers, and the parser for what follows an opening marker. */
export type ToolCallFormat = {
  readonly name: string;
  /** A chat template uses this format if it contains all strings of one of these lists. */
  readonly templateMarkers: readonly (readonly string[])[];
  readonly openings: readonly string[];
  /** Tags around calls, removed from the visible text. */
  readonly hidden: readonly string[];
  /** Consumed right after a call; elsewhere it is text. */
  readonly closing?: string;
  /** Whether the prompt already contains the first opening marker. */
  readonly startsOpen?: boolean;
  /** Whether output that starts with a JSON object naming a known tool is a call. */
  readonly acceptsUnmarkedJson?: boolean;
  readonly read: (scanner: Scanner, writer: CallWriter) => ParserSteps<Outcome>;
};

const qwenCoderTags: TagShape = {
  nameEnd: ">",
  keyStart: "<parameter=",
  keyEnds: { ">": "by-schema" },
  valueEnd: "</parameter>",
  hasLineBreaks: true,
  callEnd: "</function>",
};

const glmTags: TagShape = {
  keyStart: "<arg_key>",
  keyEnds: { "</arg_key>": "by-schema" },
  valueStart: "<arg_value>",
  valueEnd: "</arg_value>",
  callEnd: "</tool_call>",
};

const kimiK3Tags: TagShape = {
  nameEnd: "<|sep|>",
  keyStart: '<|open|>argument key="',
  keyEnds: {
    '" type="string"<|sep|>': "text",
    ...Object.fromEntries(
      ["number", "integer", "boolean", "null", "array", "object"].map(
        (type) => [`" type="${type}"<|sep|>`, "json"] as const,
      ),
    ),
  },
  valueEnd: "<|close|>argument<|sep|>",
  objectStart: '<|open|>json type="object"<|sep|>',
  callEnd: "<|close|>call<|sep|>",
};

const miniCpmTags: TagShape = {
  nameEnd: '">',
  keyStart: '<param name="',
  keyEnds: { '">': "by-schema" },
  valueEnd: "</param>",
  hasCharacterData: true,
  callEnd: "</function>",
};

/** In order of detection, more specific formats first. */
export const toolCallFormats: readonly ToolCallFormat[] = [
  {
    name: "minimax-m3",
    templateMarkers: [[tagPrefix]],
    openings: [`${tagPrefix}<invoke name="`],
    hidden: [`${tagPrefix}<tool_call>`, `${tagPrefix}</tool_call>`],
    read: readNestedCall,
  },
  invokeFormat("deepseek-dsml", "｜DSML｜", {
    templateMarker: "｜DSML｜",
    keyEnds: { '" string="true">': "text", '" string="false">': "json", '">': "by-schema" },
    sections: ["｜DSML｜function_calls", "｜DSML｜tool_calls"],
  }),
  {
    name: "deepseek",
    templateMarkers: [["<｜tool▁calls▁begin｜>"]],
    openings: ["<｜tool▁call▁begin｜>"],
    hidden: ["<｜tool▁calls▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"],
    read: readDeepseekCall,
  },
  named("kimi-k2", "<|tool_call_begin|>", {
    templateMarkers: [["<|tool_calls_section_begin|>"]],
    hidden: ["<|tool_calls_section_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>"],
    shape: { headerEnds: ["<|tool_call_argument_begin|>"], readHeader: readKimiHeader },
  }),
  tagged("kimi-k3", '<|open|>call tool="', {
    templateMarkers: [["<|open|>", "<|close|>"]],
    hidden: [
      ...["response", "tools"].flatMap((tag) => [`<|open|>${tag}<|sep|>`, `<|close|>${tag}<|sep|>`]),
      "<|close|>message<|sep|>",
    ],
    shape: kimiK3Tags,
  }),
  named("solar", "<|tool_call:begin|>", {
    templateMarkers: [["<|tool_call:begin|>"]],
    hidden: ["<|tool_calls|>", "<|tool_call:end|>"],
    shape: { headerEnds: ["<|tool_call:args|>"], readHeader: readSolarHeader },
  }),
  invokeFormat("minimax-m2", "", {
    templateMarker: "<minimax:tool_call>",
    keyEnds: { '">': "by-schema" },
    sections: ["minimax:tool_call"],
  }),
  tagged("hunyuan-3", "<tool_call:opensource>", {
    templateMarkers: [["<tool_sep{}>", ":opensource"]],
    hidden: ["<tool_calls:opensource>", "</tool_calls:opensource>"],
    shape: {
      nameEnd: "<tool_sep:opensource>",
      keyStart: "<arg_key:opensource>",
      keyEnds: { "</arg_key:opensource>": "by-schema" },
      valueStart: "<arg_value:opensource>",
      valueEnd: "</arg_value:opensource>",
      callEnd: "</tool_call:opensource>",
    },
  }),
  tagged("minicpm-5", '<function name="', {
    templateMarkers: [['<function name="', '<param name="']],
    hidden: [],
    shape: miniCpmTags,
  }),
  tagged("seed-oss", "<function=", {
    templateMarkers: [["<seed:tool_call>"]],
    hidden: ["<seed:tool_call>", "</seed:tool_call>"],
    shape: { ...qwenCoderTags, hasLineBreaks: false },
  }),
  tagged("qwen3-coder", "<function=", {
    templateMarkers: [["<function=", "<parameter="]],
    hidden: ["<tool_call>", "</tool_call>"],
    shape: qwenCoderTags,
  }),
  named("functionary-3.1", "<function=", {
    templateMarkers: [["<function="]],
    hidden: ["</function>", "<|eom_id|>"],
    shape: { headerEnds: [">"], readHeader: readBareHeader },
  }),
  {
    name: "functionary-3.2",
    templateMarkers: [[">>>all"]],
    openings: [">>>"],
    hidden: [],
    startsOpen: true,
    read: readRecipient,
  },
  tagged("glm-4.5", "<tool_call>", {
    templateMarkers: [["<arg_key>"]],
    hidden: ["</tool_call>"],
    shape: glmTags,
  }),
  {
    name: "lfm2",
    // LFM2.5 has tools only in the prompt, and no markers.
    templateMarkers: [
      ["<|tool_call_start|>"],
      ["<|tool_list_start|>"],
      ["List of tools: [", "keep_past_thinking"],
    ],
    openings: ["<|tool_call_start|>"],
    hidden: ["<|tool_call_end|>"],
    read: (scanner, writer) => readPythonicCalls(scanner, writer, jsonShape),
  },
  {
    name: "gemma-4",
    templateMarkers: [["<|tool_call>call:"]],
    openings: ["<|tool_call>call:"],
    hidden: ["<tool_call|>", "<|tool_response>"],
    read: readGemmaCall,
  },
  {
    name: "mistral",
    templateMarkers: [["[TOOL_CALLS]"]],
    openings: ["[TOOL_CALLS]"],
    hidden: [],
    read: (scanner, writer) => readMistralCalls(scanner, writer, { ...jsonShape, idComesLast: true }),
  },
  json("command-r7b", "<|START_ACTION|>", { closings: ["<|END_ACTION|>"] }),
  {
    ...json("command-r-plus", "Action:\n```json", {
      closings: [],
      templateMarkers: [["Write 'Action:'"], ["Write \\'Action:\\'"]],
    }),
    openings: ["Action:\n```json", "Action: ```json", "Action:```json"],
    closing: "```",
  },
  json("nemotron-nano", "<TOOLCALL>", { closings: ["</TOOLCALL>"] }),
  {
    ...json("apertus", "<|tools_prefix|>", { closings: ["<|tools_suffix|>"] }),
    read: (scanner, writer) => readJsonCalls(scanner, { writer, shape: { ...jsonShape, nameIsKey: true } }),
  },
  json("firefunction", "functools", { closings: [], templateMarkers: [["functools["]] }),
  // Granite 3 has no closing tag, Phi-4-mini has its own.
  json("granite-3-phi-4", "<|tool_call|>", { closings: ["<|/tool_call|>"] }),
  json("gigachat-3.1", "<|function_call|>", { closings: ["<|message_sep|>"] }),
  json("gigachat-3", "function call<|role_sep|>", {
    closings: ["<|message_sep|>"],
    templateMarkers: [["function call", "<|role_sep|>"]],
  }),
  json("minimax-m1-apriel", "<tool_calls>", { closings: ["</tool_calls>"] }),
  json("hermes", "<tool_call>", { closings: ["</tool_call>"] }),
  {
    ...json("llama-3", "<|python_tag|>", {
      closings: ["<|eom_id|>"],
      templateMarkers: [["<|python_tag|>"], ['{"name": function name, "parameters":']],
    }),
    read: (scanner, writer) => readPythonicCalls(scanner, writer, jsonShape),
    acceptsUnmarkedJson: true,
  },
];

/** For an unknown template: a bare JSON object, or the most common tag. */
export const genericFormat: ToolCallFormat = {
  ...json("generic", "<tool_call>", { closings: ["</tool_call>"] }),
  acceptsUnmarkedJson: true,
};

/** The format that a chat template uses. */
export function detectToolCallFormat(template: string | null): ToolCallFormat {
  if (template === null) return genericFormat;
  const found = toolCallFormats.find(({ templateMarkers }) =>
    templateMarkers.some((texts) => texts.every((text) => template.includes(text))),
  );
  return found ?? genericFormat;
}

type JsonMarkers = {
  readonly closings: readonly string[];
  readonly templateMarkers?: readonly (readonly string[])[];
};

function json(name: string, opening: string, { closings, templateMarkers }: JsonMarkers): ToolCallFormat {
  return {
    name,
    templateMarkers: templateMarkers ?? [[opening]],
    openings: [opening],
    hidden: closings,
    read: (scanner, writer) => readJsonCalls(scanner, { writer, shape: jsonShape }),
  };
}

type Markers<Shape> = Pick<ToolCallFormat, "templateMarkers" | "hidden"> & { readonly shape: Shape };

function named(
  name: string,
  opening: string,
  { templateMarkers, hidden, shape }: Markers<NamedShape>,
): ToolCallFormat {
  const read = (scanner: Scanner, writer: CallWriter) => readNamedJson(scanner, shape, writer);
  return { name, templateMarkers, openings: [opening], hidden, read };
}

function tagged(
  name: string,
  opening: string,
  { templateMarkers, hidden, shape }: Markers<TagShape>,
): ToolCallFormat {
  const read = (scanner: Scanner, writer: CallWriter) => readTaggedCall(scanner, shape, writer);
  return { name, templateMarkers, openings: [opening], hidden, read };
}

type InvokeMarkers = Pick<TagShape, "keyEnds"> & {
  readonly templateMarker: string;
  readonly sections: readonly string[];
};

/** Formats that write `<invoke name="…">` with one tag per parameter, under their own prefix. */
function invokeFormat(
  name: string,
  prefix: string,
  { templateMarker, keyEnds, sections }: InvokeMarkers,
): ToolCallFormat {
  return tagged(name, `<${prefix}invoke name="`, {
    templateMarkers: [[templateMarker]],
    hidden: sections.flatMap((section) => [`<${section}>`, `</${section}>`]),
    shape: {
      nameEnd: '">',
      keyStart: `<${prefix}parameter name="`,
      keyEnds,
      valueEnd: `</${prefix}parameter>`,
      callEnd: `</${prefix}invoke>`,
    },
  });
}
