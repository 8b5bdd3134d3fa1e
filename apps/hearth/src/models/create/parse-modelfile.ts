import { FailureError } from "@hearth-and-keep/failures";
import type { StoredMessage } from "../metadata/messages.ts";
import { readParameterText } from "../metadata/parameter-text.ts";
import type { ModelExtras } from "../model-extras.ts";

export type ModelfileFailure = {
  readonly kind: "modelfile-invalid";
  readonly line: number;
  readonly reason: string;
};

/** What a Modelfile says. What stands after FROM and ADAPTER is a file or a model; its reader finds out. */
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

/** One instruction: its word, the name or role that some have before their value, and the value. */
type Instruction = {
  readonly word: string;
  readonly subject: string;
  readonly value: string;
  readonly line: number;
};

const words: Readonly<Record<string, (draft: Draft, instruction: Instruction) => void>> = {
  FROM: (draft, { value, line }) => void draft.from.push(requireText(value, "FROM", line)),
  ADAPTER: (draft, { value, line }) => void draft.adapters.push(requireText(value, "ADAPTER", line)),
  TEMPLATE: (draft, { value }) => void (draft.template = value),
  SYSTEM: (draft, { value }) => void (draft.system = value),
  LICENSE: (draft, { value }) => void draft.licenses.push(value),
  PARAMETER: setParameter,
  MESSAGE: addMessage,
};

/** These have a name or a role before their value. */
const wordsWithSubject = new Set(["PARAMETER", "MESSAGE"]);
const lineEnd = /\r\n|\r|\n|$/gu;

/**
 * Reads Ollama's language: a word and its value on a line, words in any case, `#` at the start of a line for
 * comments. A value in `"` or `"""` goes on to the line that ends with the same, so that it may hold line ends; a
 * line inside it that ends so cannot be written.
 */
export function parseModelfile(text: string): Modelfile {
  const draft: Draft = { from: [], adapters: [], licenses: [], parameters: {}, messages: [] };
  for (const instruction of instructionsIn(text)) words[instruction.word]?.(draft, instruction);
  const { from, adapters, ...extras } = draft;
  if (from.length === 0) throw invalid(1, "it has no line with FROM");
  return { from, adapters, extras };
}

function* instructionsIn(text: string): Generator<Instruction> {
  let line = 1;
  for (let start = text.startsWith("\uFEFF") ? 1 : 0; start < text.length; ) {
    const end = endOfLine(text, start);
    const written = text.slice(start, end.first);
    if (/^\s*(?:#|$)/u.test(written)) {
      start = end.next;
      line += 1;
      continue;
    }
    const { word, subject, length } = readHead(written, line);
    const { value, next, lines } = readValue(text, start + length, line);
    yield { word, subject, value, line };
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

function readHead(written: string, line: number) {
  const head = /^\s*(?<word>[A-Za-z]+)(?:\s+|$)/u.exec(written);
  const word = head?.groups?.["word"]?.toUpperCase() ?? "";
  if (!Object.hasOwn(words, word))
    throw invalid(line, `it must begin with one of ${Object.keys(words).join(", ")}`);
  const length = head?.[0].length ?? 0;
  if (!wordsWithSubject.has(word)) return { word, subject: "", length };
  const subject = /^(?<name>[^\s"]+)(?:\s+|$)/u.exec(written.slice(length));
  if (subject === null) throw invalid(line, `${word} needs a name and a value`);
  return { word, subject: subject.groups?.["name"] ?? "", length: length + subject[0].length };
}

function readValue(text: string, start: number, line: number) {
  const quote = /^"(?:"")?/u.exec(text.slice(start, start + 3))?.[0] ?? "";
  let lines = 1;
  for (let from = start; ; lines += 1) {
    const { first, next } = endOfLine(text, from);
    const written = text.slice(from, first).trimEnd();
    const close = from + written.length - quote.length;
    if (quote === "") return { value: written, next, lines };
    if (written.endsWith(quote) && close >= start + quote.length) {
      return { value: text.slice(start + quote.length, close), next, lines };
    }
    if (next >= text.length) throw invalid(line, "a quotation begins here and does not end");
    from = next;
  }
}

/** Stops add up; of everything else the last one counts. */
function setParameter({ parameters }: Draft, { subject, value, line }: Instruction): void {
  const name = subject.toLowerCase();
  requireText(value, `PARAMETER ${name}`, line);
  const read = readParameterText(name, [value]);
  if ("reason" in read) throw invalid(line, `PARAMETER ${name} cannot be used: ${read.reason}`);
  if (name !== "stop") parameters[name] = read.value;
  else if (Array.isArray(parameters["stop"])) parameters["stop"].push(value);
  else parameters["stop"] = [value];
}

function addMessage({ messages }: Draft, { subject, value, line }: Instruction): void {
  const role = subject.toLowerCase();
  if (role !== "system" && role !== "user" && role !== "assistant") {
    throw invalid(line, "the role of a MESSAGE is system, user or assistant");
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
