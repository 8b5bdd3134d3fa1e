/**
 * @module
 * Prepares the input of a request: renders a conversation with the model's template, and builds the grammar for the
 * output constraint. Templates and constraints are untrusted, so neither runs on an event loop that others wait for:
 * the binding's worker does it in a thread of its own process, every other driver in a thread of the server.
 * Imported by that thread, and by the worker, which describes the model's template.
 */

import type { Conversation, OutputConstraint } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import {
  checkGrammar,
  grammarForJson,
  grammarForSchema,
  grammarForToolCalls,
} from "@hearth-and-keep/output-grammars";
import { type ModelTemplate, parseModelTemplate } from "../model-template.ts";
import type { SpecialTokens } from "../render-chat-template.ts";
import type { TemplateTexts } from "./template-texts.ts";

/** Parses the template on first use; throws `template-failed` if the model has no valid one. */
export function createTemplateParser({ goTemplate, ...sources }: TemplateTexts): () => ModelTemplate {
  let template: ModelTemplate | undefined;
  return () => (template ??= parseModelTemplate(sources, goTemplate));
}

/** Undefined if the template is invalid: such a model still loads, because raw prompts need no template. */
export function tryChatTemplate(chatTemplate: () => ModelTemplate): ModelTemplate | undefined {
  try {
    return chatTemplate();
  } catch (error) {
    if (error instanceof FailureError) return undefined;
    throw error;
  }
}

/** Uses the conversation's own template if it has one, and otherwise the model's. */
export function renderConversation(
  chatTemplate: () => ModelTemplate,
  conversation: Conversation,
  specialTokens: SpecialTokens,
): string {
  const { goTemplate } = conversation;
  const template =
    goTemplate === undefined ? chatTemplate() : parseModelTemplate({ default: null }, goTemplate);
  const { rendered, prefill } = splitPrefill(conversation);
  return template.render(rendered, { specialTokens, now: new Date() }) + prefill;
}

/** A final assistant message is appended after the start of the model's turn, so that the model continues it. */
function splitPrefill(conversation: Conversation): {
  readonly rendered: Conversation;
  readonly prefill: string;
} {
  const last = conversation.messages.at(-1);
  if (last?.role !== "assistant" || last.content === null || (last.toolCalls ?? []).length > 0) {
    return { rendered: conversation, prefill: "" };
  }
  return {
    rendered: { ...conversation, messages: conversation.messages.slice(0, -1) },
    prefill: last.content,
  };
}

/** The most common tool-call format; forced calls use it for every model family. */
const defaultCallFormat = {
  before: "",
  after: "",
  callBefore: "<tool_call>\n",
  callAfter: "\n</tool_call>",
  separator: "\n",
  layout: { type: "json", nameKey: "name", argumentsKey: "arguments" },
} as const;

/** GBNF for the output constraint; undefined without one. */
export function grammarFor(constraint: OutputConstraint | undefined): string | undefined {
  switch (constraint?.type) {
    case undefined:
      return undefined;
    case "json":
      return grammarForJson();
    case "json-schema":
      return grammarForSchema(constraint.schema, constraint.isStrict === true ? "strict" : "lenient");
    case "gbnf":
      checkGrammar(constraint.grammar);
      return constraint.grammar;
    case "tool-calls":
      return grammarForToolCalls(constraint.tools, { ...defaultCallFormat, maxCalls: constraint.maxCalls });
  }
}
