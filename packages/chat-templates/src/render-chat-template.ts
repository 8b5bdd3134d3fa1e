import type { Conversation, JsonObject } from "@hearth-and-keep/engine";
import { Budget, defaultTemplateLimits, type TemplateLimits } from "./budget.ts";
import { type ChatTemplate, type ParsedTemplate, withTemplateFailure } from "./chat-template.ts";
import { formatDate } from "./format-date.ts";
import { createVariables, runTemplate } from "./run-template.ts";
import { writeMessages, writeTools } from "./template-messages.ts";

/** The special tokens that a template may print, as text; empty if the model has none. */
export type SpecialTokens = {
  readonly beginning: string;
  readonly end: string;
  /** Whether the tokenizer adds it on its own; then the prompt must not start with it too. */
  readonly addsBeginning: boolean;
  readonly addsEnd: boolean;
};

export type RenderOptions = {
  readonly specialTokens: SpecialTokens;
  /** Some templates include the current date. */
  readonly now: Date;
  readonly limits?: TemplateLimits;
};

const stepsPerMessage = 20_000;

export function renderChatTemplate(
  template: ChatTemplate,
  conversation: Conversation,
  options: RenderOptions,
): string {
  const limits = scaleLimits(options.limits ?? defaultTemplateLimits, conversation.messages.length);
  const hasTools = (conversation.tools ?? []).length > 0;
  const chosen = (hasTools ? template.forTools : undefined) ?? template.default;
  const prompt = withTemplateFailure(limits.milliseconds, () => {
    const variables = createVariables(listVariables(chosen, conversation, options));
    return runTemplate(chosen.body, variables, { budget: new Budget(limits), now: options.now });
  });
  return stripAddedTokens(finishTurn(prompt, chosen.source), options.specialTokens);
}

/** Some legitimate templates are quadratic in the number of messages, so long conversations get higher limits. */
export function scaleLimits(limits: TemplateLimits, messages: number): TemplateLimits {
  const steps = limits.steps + messages * stepsPerMessage;
  return { ...limits, steps, milliseconds: limits.milliseconds + messages };
}

function listVariables(
  template: ParsedTemplate,
  conversation: Conversation,
  options: RenderOptions,
): JsonObject {
  const { tools = [], templateVariables = {} } = conversation;
  return {
    messages: writeMessages(conversation, template),
    bos_token: options.specialTokens.beginning,
    eos_token: options.specialTokens.end,
    enable_thinking: conversation.thinking ?? template.capabilities.supportsThinking,
    ...(tools.length === 0 ? {} : { tools: writeTools(tools) }),
    datetime: formatDate(options.now, "%b %d %Y"),
    date_string: formatDate(options.now, "%d %b %Y"),
    ...expandAliases(templateVariables),
    ...templateVariables,
    add_generation_prompt: true,
  };
}

/** Sets an option under all names that model families use for it. */
function expandAliases(variables: JsonObject): JsonObject {
  const { preserve_reasoning: isPreserved, reasoning_effort: effort } = variables;
  return {
    ...(typeof isPreserved === "boolean"
      ? {
          preserve_thinking: isPreserved,
          clear_thinking: !isPreserved,
          truncate_history_thinking: !isPreserved,
          drop_thinking: !isPreserved,
        }
      : {}),
    ...(typeof effort === "string" && effort !== "" ? { reasoning_strength: effort } : {}),
  };
}

/**
 * Gemma 4's template does not open the model's turn after some tool calls; without it the model loses its reasoning.
 */
function finishTurn(prompt: string, source: string): string {
  return source.includes("'<|tool_call>call:'") && prompt.endsWith("<turn|>\n")
    ? `${prompt}<|turn>model\n`
    : prompt;
}

function stripAddedTokens(prompt: string, { beginning, end, addsBeginning, addsEnd }: SpecialTokens): string {
  const withoutBeginning =
    addsBeginning && prompt.startsWith(beginning) ? prompt.slice(beginning.length) : prompt;
  return addsEnd && end !== "" && withoutBeginning.endsWith(end)
    ? withoutBeginning.slice(0, -end.length)
    : withoutBeginning;
}
