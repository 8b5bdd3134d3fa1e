import type { Scanner, Steps } from "../splitting/scanner.ts";
import type { CallWriter } from "./call-writer.ts";
import { readGemmaCall } from "./gemma-calls.ts";
import { type JsonShape, type Outcome, readJsonCalls } from "./json-calls.ts";
import {
  type NamedShape,
  readBareHeading,
  readDeepseekCall,
  readKimiHeading,
  readMistralCalls,
  readNamedJson,
  readRecipient,
  readSolarHeading,
} from "./named-json.ts";
import { readPythonicCalls } from "./pythonic-calls.ts";
import { readTaggedCall, type TagShape } from "./tagged-parameters.ts";

/** How a family writes tool calls: what marks them, and how to read what stands behind the mark. */
export type ToolCallFormat = {
  readonly name: string;
  /** A chat template that has one of these texts is of the family; all texts of an inner list are needed. */
  readonly signs: readonly (readonly string[])[];
  readonly openings: readonly string[];
  /** Tags around calls that say nothing themselves. */
  readonly hidden: readonly string[];
  /** Taken when it stands right behind a call; elsewhere it is text. */
  readonly closing?: string;
  /** Whether the prompt already has the first opening. */
  readonly startsOpen?: boolean;
  /** Whether an answer that begins with a JSON object calling a known tool is a call. */
  readonly readsBareJson?: boolean;
  readonly read: (scanner: Scanner, writer: CallWriter) => Steps<Outcome>;
};

export const jsonShape: JsonShape = {
  nameKeys: ["name", "tool_name"],
  argumentKeys: ["arguments", "parameters"],
  idKeys: ["id"],
  wrappers: ["function", "tool_call", "tool_calls"],
};

const qwenCoderTags: TagShape = {
  nameEnd: ">",
  keyStart: "<parameter=",
  keyEnds: { ">": "by-schema" },
  valueEnd: "</parameter>",
  hasLinesAround: true,
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
  callEnd: "<|close|>call<|sep|>",
};

/** In the order in which they are looked for: the more particular first. */
export const toolCallFormats: readonly ToolCallFormat[] = [
  invokeFormat("deepseek-dsml", "｜DSML｜", {
    sign: "｜DSML｜",
    keyEnds: { '" string="true">': "text", '" string="false">': "json", '">': "by-schema" },
    sections: ["｜DSML｜function_calls", "｜DSML｜tool_calls"],
  }),
  {
    name: "deepseek",
    signs: [["<｜tool▁calls▁begin｜>"]],
    openings: ["<｜tool▁call▁begin｜>"],
    hidden: ["<｜tool▁calls▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"],
    read: readDeepseekCall,
  },
  named("kimi-k2", "<|tool_call_begin|>", {
    signs: [["<|tool_calls_section_begin|>"]],
    hidden: ["<|tool_calls_section_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>"],
    shape: { headingEnds: ["<|tool_call_argument_begin|>"], readHeading: readKimiHeading },
  }),
  tagged("kimi-k3", '<|open|>call tool="', {
    signs: [["<|open|>", "<|close|>"]],
    hidden: [
      ...["response", "tools"].flatMap((tag) => [`<|open|>${tag}<|sep|>`, `<|close|>${tag}<|sep|>`]),
      "<|close|>message<|sep|>",
    ],
    shape: kimiK3Tags,
  }),
  named("solar", "<|tool_call:begin|>", {
    signs: [["<|tool_call:begin|>"]],
    hidden: ["<|tool_calls|>", "<|tool_call:end|>"],
    shape: { headingEnds: ["<|tool_call:args|>"], readHeading: readSolarHeading },
  }),
  invokeFormat("minimax-m2", "", {
    sign: "<minimax:tool_call>",
    keyEnds: { '">': "by-schema" },
    sections: ["minimax:tool_call"],
  }),
  tagged("hunyuan-3", "<tool_call:opensource>", {
    signs: [["<tool_sep{}>", ":opensource"]],
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
  tagged("seed-oss", "<function=", {
    signs: [["<seed:tool_call>"]],
    hidden: ["<seed:tool_call>", "</seed:tool_call>"],
    shape: { ...qwenCoderTags, hasLinesAround: false },
  }),
  tagged("qwen3-coder", "<function=", {
    signs: [["<function=", "<parameter="]],
    hidden: ["<tool_call>", "</tool_call>"],
    shape: qwenCoderTags,
  }),
  named("functionary-3.1", "<function=", {
    signs: [["<function="]],
    hidden: ["</function>", "<|eom_id|>"],
    shape: { headingEnds: [">"], readHeading: readBareHeading },
  }),
  {
    name: "functionary-3.2",
    signs: [[">>>all"]],
    openings: [">>>"],
    hidden: [],
    startsOpen: true,
    read: readRecipient,
  },
  tagged("glm-4.5", "<tool_call>", {
    signs: [["<arg_key>"]],
    hidden: ["</tool_call>"],
    shape: glmTags,
  }),
  {
    name: "lfm2",
    signs: [["<|tool_call_start|>"], ["<|tool_list_start|>"]],
    openings: ["<|tool_call_start|>"],
    hidden: ["<|tool_call_end|>"],
    read: (scanner, writer) => readPythonicCalls(scanner, writer, jsonShape),
  },
  {
    name: "gemma-4",
    signs: [["<|tool_call>call:"]],
    openings: ["<|tool_call>call:"],
    hidden: ["<tool_call|>", "<|tool_response>"],
    read: readGemmaCall,
  },
  {
    name: "mistral",
    signs: [["[TOOL_CALLS]"]],
    openings: ["[TOOL_CALLS]"],
    hidden: [],
    read: (scanner, writer) => readMistralCalls(scanner, writer, { ...jsonShape, idComesLast: true }),
  },
  json("command-r7b", "<|START_ACTION|>", { closings: ["<|END_ACTION|>"] }),
  {
    ...json("command-r-plus", "Action:\n```json", {
      closings: [],
      signs: [["Write 'Action:'"], ["Write \\'Action:\\'"]],
    }),
    openings: ["Action:\n```json", "Action: ```json", "Action:```json"],
    closing: "```",
  },
  json("nemotron-nano", "<TOOLCALL>", { closings: ["</TOOLCALL>"] }),
  {
    ...json("apertus", "<|tools_prefix|>", { closings: ["<|tools_suffix|>"] }),
    read: (scanner, writer) => readJsonCalls(scanner, { writer, shape: { ...jsonShape, nameIsKey: true } }),
  },
  json("firefunction", "functools", { closings: [], signs: [["functools["]] }),
  // Granite 3 closes nothing, Phi-4-mini closes with a tag of its own.
  json("granite-3-phi-4", "<|tool_call|>", { closings: ["<|/tool_call|>"] }),
  json("gigachat-3.1", "<|function_call|>", { closings: ["<|message_sep|>"] }),
  json("gigachat-3", "function call<|role_sep|>", {
    closings: ["<|message_sep|>"],
    signs: [["function call", "<|role_sep|>"]],
  }),
  json("minimax-m1-apriel", "<tool_calls>", { closings: ["</tool_calls>"] }),
  json("hermes", "<tool_call>", { closings: ["</tool_call>"] }),
  {
    ...json("llama-3", "<|python_tag|>", {
      closings: ["<|eom_id|>"],
      signs: [["<|python_tag|>"], ['{"name": function name, "parameters":']],
    }),
    read: (scanner, writer) => readPythonicCalls(scanner, writer, jsonShape),
    readsBareJson: true,
  },
];

/** For a template of no known family: a call as a bare JSON object, or in the most common of all tags. */
export const genericFormat: ToolCallFormat = {
  ...json("generic", "<tool_call>", { closings: ["</tool_call>"] }),
  readsBareJson: true,
};

/** Which family's format a chat template is written for. */
export function detectToolCallFormat(template: string | null): ToolCallFormat {
  if (template === null) return genericFormat;
  const found = toolCallFormats.find(({ signs }) =>
    signs.some((texts) => texts.every((text) => template.includes(text))),
  );
  return found ?? genericFormat;
}

type JsonMarks = {
  readonly closings: readonly string[];
  readonly signs?: readonly (readonly string[])[];
};

function json(name: string, opening: string, { closings, signs }: JsonMarks): ToolCallFormat {
  return {
    name,
    signs: signs ?? [[opening]],
    openings: [opening],
    hidden: closings,
    read: (scanner, writer) => readJsonCalls(scanner, { writer, shape: jsonShape }),
  };
}

type Marks<Shape> = Pick<ToolCallFormat, "signs" | "hidden"> & { readonly shape: Shape };

function named(name: string, opening: string, { signs, hidden, shape }: Marks<NamedShape>): ToolCallFormat {
  const read = (scanner: Scanner, writer: CallWriter) => readNamedJson(scanner, shape, writer);
  return { name, signs, openings: [opening], hidden, read };
}

function tagged(name: string, opening: string, { signs, hidden, shape }: Marks<TagShape>): ToolCallFormat {
  const read = (scanner: Scanner, writer: CallWriter) => readTaggedCall(scanner, shape, writer);
  return { name, signs, openings: [opening], hidden, read };
}

type InvokeMarks = Pick<TagShape, "keyEnds"> & {
  readonly sign: string;
  readonly sections: readonly string[];
};

/** Families that write `<invoke name="…">` with a tag for each parameter, under a prefix of their own. */
function invokeFormat(
  name: string,
  prefix: string,
  { sign, keyEnds, sections }: InvokeMarks,
): ToolCallFormat {
  return tagged(name, `<${prefix}invoke name="`, {
    signs: [[sign]],
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
