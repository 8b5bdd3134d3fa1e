import type { Conversation, JsonObject } from "@hearth-and-keep/engine";
import { Budget, defaultTemplateLimits, type TemplateLimits } from "./budget.ts";
import { type ChatTemplate, failingAsOne, type ReadTemplate } from "./chat-template.ts";
import { formatDate } from "./format-date.ts";
import { makeVariables, runTemplate } from "./run-template.ts";
import { writeMessages, writeTools } from "./template-messages.ts";

/** The tokens a template may print, as text; empty where the model has none. */
export type SpecialTokens = {
  readonly beginning: string;
  readonly end: string;
  /** The tokenizer adds it by itself, so the prompt must not open with it too. */
  readonly addsBeginning: boolean;
  readonly addsEnd: boolean;
};

export type RenderOptions = {
  readonly specialTokens: SpecialTokens;
  /** Some templates tell the model today's date. */
  readonly now: Date;
  readonly limits?: TemplateLimits;
};

const stepsPerMessage = 20_000;

export function renderChatTemplate(
  template: ChatTemplate,
  conversation: Conversation,
  parts: RenderOptions,
): string {
  const limits = growLimits(parts.limits ?? defaultTemplateLimits, conversation.messages.length);
  const hasTools = (conversation.tools ?? []).length > 0;
  const chosen = (hasTools ? template.forTools : undefined) ?? template.usual;
  const prompt = failingAsOne(limits.milliseconds, () => {
    const variables = makeVariables(listVariables(chosen, conversation, parts));
    return runTemplate(chosen.body, variables, { budget: new Budget(limits), now: parts.now });
  });
  return withoutDoubled(finishTurn(prompt, chosen.source), parts.specialTokens);
}

/** Some honest templates look at every message from every other, so long conversations need more. */
export function growLimits(limits: TemplateLimits, messages: number): TemplateLimits {
  const steps = limits.steps + messages * stepsPerMessage;
  return { ...limits, steps, milliseconds: limits.milliseconds + messages };
}

function listVariables(template: ReadTemplate, conversation: Conversation, parts: RenderOptions): JsonObject {
  const { tools = [], templateVariables = {} } = conversation;
  return {
    messages: writeMessages(conversation, template),
    bos_token: parts.specialTokens.beginning,
    eos_token: parts.specialTokens.end,
    enable_thinking: conversation.thinking ?? template.capabilities.thinks,
    ...(tools.length === 0 ? {} : { tools: writeTools(tools) }),
    datetime: formatDate(parts.now, "%b %d %Y"),
    date_string: formatDate(parts.now, "%d %b %Y"),
    ...spreadSwitches(templateVariables),
    ...templateVariables,
    add_generation_prompt: true,
  };
}

/** One wish, under the different names that families have for it. */
function spreadSwitches(variables: JsonObject): JsonObject {
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

/** Gemma 4's template opens no turn for the model after some calls; without it the model loses its thoughts. */
function finishTurn(prompt: string, source: string): string {
  return source.includes("'<|tool_call>call:'") && prompt.endsWith("<turn|>\n")
    ? `${prompt}<|turn>model\n`
    : prompt;
}

function withoutDoubled(prompt: string, { beginning, end, addsBeginning, addsEnd }: SpecialTokens): string {
  const opened = addsBeginning && prompt.startsWith(beginning) ? prompt.slice(beginning.length) : prompt;
  return addsEnd && end !== "" && opened.endsWith(end) ? opened.slice(0, -end.length) : opened;
}
