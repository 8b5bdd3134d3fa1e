/**
 * @module
 * What a request needs before a model sees it: the prompt that the model's own template makes of a conversation, and
 * the grammar of what the answer must look like. Both come from model files and callers, so they are never computed
 * on the server's event loop: the binding's worker does it in its process, every other driver in a thread.
 * Promises the same prompts, grammars and refusals to both. Imported by the worker and, through the index, by drivers.
 */

import type { Conversation, OutputConstraint } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import {
  checkGrammar,
  grammarForJson,
  grammarForSchema,
  grammarForToolCalls,
} from "@hearth-and-keep/output-grammars";
import { type ModelTemplate, readModelTemplate } from "../model-template.ts";
import type { SpecialTokens } from "../render-chat-template.ts";
import type { TemplateTexts } from "./template-texts.ts";

/** Read when it is first asked for; throws `template-failed` when the model has none that can be read. */
export function templateReader({ goTemplate, ...sources }: TemplateTexts): () => ModelTemplate {
  let template: ModelTemplate | undefined;
  return () => (template ??= readModelTemplate(sources, goTemplate));
}

/** A model whose template is broken still loads: raw prompts need none. */
export function templateIfSound(chatTemplate: () => ModelTemplate): ModelTemplate | undefined {
  try {
    return chatTemplate();
  } catch (problem) {
    if (problem instanceof FailureError) return undefined;
    throw problem;
  }
}

/** By the template that came with the conversation, else by the model's own, which then need not be sound. */
export function renderConversation(
  chatTemplate: () => ModelTemplate,
  conversation: Conversation,
  specialTokens: SpecialTokens,
): string {
  const { goTemplate } = conversation;
  const template = goTemplate === undefined ? chatTemplate() : readModelTemplate({ usual: null }, goTemplate);
  const { shown, begun } = withoutBegunAnswer(conversation);
  return template.render(shown, { specialTokens, now: new Date() }) + begun;
}

/** An answer that the caller began is put behind the opening of the model's turn, so that the model goes on with it. */
function withoutBegunAnswer(conversation: Conversation): {
  readonly shown: Conversation;
  readonly begun: string;
} {
  const last = conversation.messages.at(-1);
  if (last?.role !== "assistant" || last.content === null || (last.toolCalls ?? []).length > 0) {
    return { shown: conversation, begun: "" };
  }
  return { shown: { ...conversation, messages: conversation.messages.slice(0, -1) }, begun: last.content };
}

/** The most common way to write calls; a forced call is written so whatever the family's own way is. */
const plainCalls = {
  before: "",
  after: "",
  callBefore: "<tool_call>\n",
  callAfter: "\n</tool_call>",
  separator: "\n",
  layout: { type: "json", nameKey: "name", argumentsKey: "arguments" },
} as const;

/** GBNF for what the answer must look like; undefined when anything goes. */
export function grammarFor(constraint: OutputConstraint | undefined): string | undefined {
  switch (constraint?.type) {
    case undefined:
      return undefined;
    case "json":
      return grammarForJson();
    case "json-schema":
      return grammarForSchema(constraint.schema);
    case "gbnf":
      checkGrammar(constraint.grammar);
      return constraint.grammar;
    case "tool-calls":
      return grammarForToolCalls(constraint.tools, { ...plainCalls, maxCalls: constraint.maxCalls });
  }
}
