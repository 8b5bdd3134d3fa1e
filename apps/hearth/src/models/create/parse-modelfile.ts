import { FailureError } from "@hearth-and-keep/failures";
import type { StoredMessage } from "../metadata/messages.ts";
import { parseParameter } from "../metadata/parse-parameter.ts";
import type { ModelExtras } from "../model-extras.ts";

export type ModelfileFailure = {
  readonly kind: "modelfile-invalid";
  readonly line: number;
  readonly reason: string;
};

/** A parsed Modelfile. FROM and ADAPTER name a file or a model; the caller finds out which. */
export type Modelfile = {
  readonly from: readonly string[];
  readonly adapters: readonly string[];
  readonly extras: ModelExtras;
};

type Draft = {
  from: string[];
  adapters: string[];
  template?: string;
  system?: string;
  licenses: string[];
  parameters: Record<string, unknown>;
  messages: StoredMessage[];
};

/** One instruction: its keyword, the parameter name or message role, and the value. */
type Instruction = {
  readonly keyword: string;
  readonly subject: string;
  readonly value: string;
  readonly line: number;
};

const instructions: Readonly<Record<string, (draft: Draft, instruction: Instruction) => void>> = {
  FROM: (draft, { value, line }) => void draft.from.push(requireText(value, "FROM", line)),
  ADAPTER: (draft, { value, line }) => void draft.adapters.push(requireText(value, "ADAPTER", line)),
  TEMPLATE: (draft, { value }) => void (draft.template = value),
  SYSTEM: (draft, { value }) => void (draft.system = value),
  LICENSE: (draft, { value }) => void draft.licenses.push(value),
  PARAMETER: setParameter,
  MESSAGE: addMessage,
};

/** Instructions with a name or a role before the value. */
const keywordsWithSubject = new Set(["PARAMETER", "MESSAGE"]);
const lineEnd = /\r\n|\r|\n|$/gu;

/**
 * Parses Ollama's Modelfile format: one instruction per line, keywords in any case, comments after `#` at the start of
 * a line. A value that begins with `"` or `"""` continues to the first line that ends with the same quote; there is no
 * escape for such a line inside the value.
 */
export function parseModelfile(text: string): Modelfile {
  const draft: Draft = { from: [], adapters: [], licenses: [], parameters: {}, messages: [] };
  for (const instruction of parseInstructions(text)) instructions[instruction.keyword]?.(draft, instruction);
  const { from, adapters, ...extras } = draft;
  if (from.length === 0) throw invalid(1, "it has no FROM instruction");
  return { from, adapters, extras };
}

function* parseInstructions(text: string): Generator<Instruction> {
  let line = 1;
  for (let start = text.startsWith("\uFEFF") ? 1 : 0; start < text.length; ) {
    const end = endOfLine(text, start);
    const lineText = text.slice(start, end.first);
    if (/^\s*(?:#|$)/u.test(lineText)) {
      start = end.next;
      line += 1;
      continue;
    }
    const { keyword, subject, length } = parseHead(lineText, line);
    const { value, next, lines } = parseValue(text, start + length, line);
    yield { keyword, subject, value, line };
    start = next;
    line += lines;
  }
}

function endOfLine(text: string, from: number): { readonly first: number; readonly next: number } {
  lineEnd.lastIndex = from;
  const match = lineEnd.exec(text);
  const first = match?.index ?? text.length;
  return { first, next: Math.max(first + (match?.[0].length ?? 0), from + 1) };
}

function parseHead(lineText: string, line: number) {
  const head = /^\s*(?<keyword>[A-Za-z]+)(?:\s+|$)/u.exec(lineText);
  const keyword = head?.groups?.["keyword"]?.toUpperCase() ?? "";
  if (!Object.hasOwn(instructions, keyword))
    throw invalid(line, `unknown instruction; expected one of ${Object.keys(instructions).join(", ")}`);
  const length = head?.[0].length ?? 0;
  if (!keywordsWithSubject.has(keyword)) return { keyword, subject: "", length };
  const subject = /^(?<name>[^\s"]+)(?:\s+|$)/u.exec(lineText.slice(length));
  if (subject === null) throw invalid(line, `${keyword} needs a name and a value`);
  return { keyword, subject: subject.groups?.["name"] ?? "", length: length + subject[0].length };
}

function parseValue(text: string, start: number, line: number) {
  const quote = /^"(?:"")?/u.exec(text.slice(start, start + 3))?.[0] ?? "";
  let lines = 1;
  for (let from = start; ; lines += 1) {
    const { first, next } = endOfLine(text, from);
    const lineText = text.slice(from, first).trimEnd();
    const close = from + lineText.length - quote.length;
    if (quote === "") return { value: lineText, next, lines };
    if (lineText.endsWith(quote) && close >= start + quote.length) {
      return { value: text.slice(start + quote.length, close), next, lines };
    }
    if (next >= text.length) throw invalid(line, "the quoted value that begins here is not closed");
    from = next;
  }
}

/** Stop sequences accumulate; for every other parameter the last value wins. */
function setParameter({ parameters }: Draft, { subject, value, line }: Instruction): void {
  const name = subject.toLowerCase();
  requireText(value, `PARAMETER ${name}`, line);
  const read = parseParameter(name, [value]);
  if ("reason" in read) throw invalid(line, `PARAMETER ${name} is not valid: ${read.reason}`);
  if (name !== "stop") parameters[name] = read.value;
  else if (Array.isArray(parameters["stop"])) parameters["stop"].push(value);
  else parameters["stop"] = [value];
}

function addMessage({ messages }: Draft, { subject, value, line }: Instruction): void {
  const role = subject.toLowerCase();
  if (role !== "system" && role !== "user" && role !== "assistant") {
    throw invalid(line, "the role of a MESSAGE must be system, user or assistant");
  }
  messages.push({ role, content: value });
}

function requireText(value: string, what: string, line: number): string {
  if (value.trim() === "") throw invalid(line, `${what} needs a value`);
  return value;
}

function invalid(line: number, reason: string): Error {
  return new FailureError<ModelfileFailure>({ kind: "modelfile-invalid", line, reason });
}
