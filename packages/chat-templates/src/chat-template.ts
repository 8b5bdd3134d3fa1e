import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { Budget, defaultTemplateLimits, type TemplateLimits } from "./budget.ts";
import { findCapabilities, type TemplateCapabilities } from "./capabilities.ts";
import { type Body, parseTemplate } from "./syntax.ts";
import { TemplateError } from "./template-error.ts";
import { withinTime } from "./run-with-timeout.ts";

/** The templates of a model file: `tokenizer.chat_template` and those with a name behind it. */
export type TemplateSources = {
  readonly usual: string | null;
  /** `tokenizer.chat_template.tool_use`, for conversations with tools. */
  readonly forTools?: string;
};

/** Read once when a model is loaded, rendered for every conversation. */
export type ChatTemplate = { readonly usual: ReadTemplate; readonly forTools: ReadTemplate | undefined };
export type ReadTemplate = {
  readonly source: string;
  readonly body: Body;
  readonly capabilities: TemplateCapabilities;
};

export function readChatTemplate(
  sources: TemplateSources,
  limits: TemplateLimits = defaultTemplateLimits,
): ChatTemplate {
  const usual = sources.usual ?? sources.forTools;
  if (usual === undefined)
    throw new FailureError<EngineFailure>({
      kind: "template-failed",
      reason: "the model has no chat template",
    });
  return failingAsOne(limits.milliseconds, () => ({
    usual: readTemplate(usual, limits),
    forTools: sources.forTools === undefined ? undefined : readTemplate(sources.forTools, limits),
  }));
}

function readTemplate(written: string, limits: TemplateLimits): ReadTemplate {
  if (written.length > limits.sourceCharacters) {
    throw new TemplateError(`it is longer than ${limits.sourceCharacters} characters`, true);
  }
  if (costOfSpaces(written) > limits.steps) throw new TemplateError("it holds too much white space", true);
  const source = mend(written);
  const body = parseTemplate(source);
  return { source, body, capabilities: findCapabilities(body, new Budget(limits)) };
}

/** The lexer looks at every space of a run from every other one. */
function costOfSpaces(source: string): number {
  return [...source.matchAll(/\s{64,}/gu)].reduce((cost, [run]) => cost + run.length ** 2, 0);
}

// Two families refuse messages that their own models write; llama.cpp takes the refusals out as well.
const refusals: readonly (readonly [sign: string, refusal: string])[] = [
  [
    "<|channel|>",
    '{%- if "<|channel|>analysis<|message|>" in message.content or "<|channel|>final<|message|>" in message.content %}',
  ],
  [
    "[TOOL_CALLS]",
    "{%- if (message['content'] is none or message['content'] == '' or message['content']|length == 0) and " +
      "(message['tool_calls'] is not defined or message['tool_calls'] is none or message['tool_calls']|length == 0) %}",
  ],
];

function mend(source: string): string {
  return refusals.reduce(
    (mended, [sign, refusal]) =>
      mended.includes(sign) ? mended.replaceAll(refusal, "{%- if false %}") : mended,
    source,
  );
}

/** Whatever a template does wrong leaves as the one failure; our own defects pass through. */
export function failingAsOne<Result>(milliseconds: number, work: () => Result): Result {
  try {
    return withinTime(milliseconds, work);
  } catch (cause) {
    const reason = findReason(cause);
    if (reason === undefined) throw cause;
    throw new FailureError<EngineFailure>({ kind: "template-failed", reason }, { cause });
  }
}

function findReason(cause: unknown): string | undefined {
  if (cause instanceof TemplateError) return cause.message;
  // The engine's own limits: the stack, and the longest string or array there can be.
  return cause instanceof RangeError ? `it asks for too much: ${cause.message}` : undefined;
}
