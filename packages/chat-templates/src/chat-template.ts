import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { Budget, defaultTemplateLimits, type TemplateLimits } from "./budget.ts";
import { probeCapabilities, type TemplateCapabilities } from "./capabilities.ts";
import { runWithTimeout } from "./run-with-timeout.ts";
import { type Body, parseTemplate } from "./syntax.ts";
import { TemplateError } from "./template-error.ts";

/** The templates of a model file: `tokenizer.chat_template` and its named variants. */
export type TemplateSources = {
  readonly default: string | null;
  /** `tokenizer.chat_template.tool_use`, for conversations with tools. */
  readonly forTools?: string;
};

/** Parsed once when a model is loaded, rendered for every conversation. */
export type ChatTemplate = {
  readonly default: ParsedTemplate;
  readonly forTools: ParsedTemplate | undefined;
};
export type ParsedTemplate = {
  readonly source: string;
  readonly body: Body;
  readonly capabilities: TemplateCapabilities;
};

export function parseChatTemplate(
  sources: TemplateSources,
  limits: TemplateLimits = defaultTemplateLimits,
): ChatTemplate {
  const defaultSource = sources.default ?? sources.forTools;
  if (defaultSource === undefined)
    throw new FailureError<EngineFailure>({
      kind: "template-failed",
      reason: "the model has no chat template",
    });
  return withTemplateFailure(limits.milliseconds, () => ({
    default: parseSource(defaultSource, limits),
    forTools: sources.forTools === undefined ? undefined : parseSource(sources.forTools, limits),
  }));
}

function parseSource(text: string, limits: TemplateLimits): ParsedTemplate {
  if (text.length > limits.sourceCharacters) {
    throw new TemplateError(`it exceeds the limit of ${limits.sourceCharacters} characters`, true);
  }
  if (whitespaceCost(text) > limits.steps) throw new TemplateError("it contains too much whitespace", true);
  const source = removeRefusals(text);
  const body = parseTemplate(source);
  return { source, body, capabilities: probeCapabilities(body, new Budget(limits)) };
}

/** The lexer is quadratic in the length of a run of whitespace. */
function whitespaceCost(source: string): number {
  return [...source.matchAll(/\s{64,}/gu)].reduce((cost, [run]) => cost + run.length ** 2, 0);
}

// The templates of two model families reject messages that their own models generate; like llama.cpp, we remove these
// checks.
const knownRefusals: readonly (readonly [marker: string, check: string])[] = [
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

function removeRefusals(source: string): string {
  return knownRefusals.reduce(
    (result, [marker, check]) =>
      result.includes(marker) ? result.replaceAll(check, "{%- if false %}") : result,
    source,
  );
}

/** Converts every error of a template to `template-failed`; bugs of our own are rethrown. */
export function withTemplateFailure<Result>(milliseconds: number, work: () => Result): Result {
  try {
    return runWithTimeout(milliseconds, work);
  } catch (cause) {
    const reason = findReason(cause);
    if (reason === undefined) throw cause;
    throw new FailureError<EngineFailure>({ kind: "template-failed", reason }, { cause });
  }
}

function findReason(cause: unknown): string | undefined {
  if (cause instanceof TemplateError) return cause.message;
  // Limits of the JavaScript engine: the stack, and the maximum length of a string or array.
  return cause instanceof RangeError ? `it exceeds a runtime limit: ${cause.message}` : undefined;
}
