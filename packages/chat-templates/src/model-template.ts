import type { Conversation, TemplateCapabilities } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { readChatTemplate, type TemplateSources } from "./chat-template.ts";
import {
  type GoTemplate,
  readGoTemplate,
  renderGoInsert,
  renderGoTemplate,
} from "./go-template/render-go-template.ts";
import { type RenderOptions, renderChatTemplate } from "./render-chat-template.ts";

/** What makes prompts for one model, in whichever language its template is written. */
export type ModelTemplate = {
  readonly abilities: TemplateCapabilities;
  readonly render: (conversation: Conversation, parts: RenderOptions) => string;
  /** Undefined when the template has no words for a text on both sides; then the model's own tokens do it. */
  readonly renderInsert: ((texts: InsertTexts, now: Date) => string) | undefined;
};

type InsertTexts = { readonly prefix: string; readonly suffix: string };

/** The model file's Jinja counts before the Go template that it came with; throws `template-failed`. */
export function readModelTemplate(sources: TemplateSources, goSource: string | undefined): ModelTemplate {
  if (goSource !== undefined && sources.usual === null && sources.forTools === undefined) {
    const template = readGoTemplate(goSource);
    const { names } = template;
    return {
      abilities: { tools: names.has("tools"), thinking: names.has("think") || names.has("thinking") },
      render: (conversation, { now }) => renderGoTemplate(template, conversation, { now }),
      renderInsert: insertBy(template),
    };
  }
  const template = readChatTemplate(sources);
  const { takesTools, thinks } = template.usual.capabilities;
  return {
    abilities: { tools: takesTools || template.forTools !== undefined, thinking: thinks },
    render: (conversation, parts) => renderChatTemplate(template, conversation, parts),
    renderInsert: insertBy(readIfSound(goSource)),
  };
}

function insertBy(template: GoTemplate | undefined): ModelTemplate["renderInsert"] {
  if (template?.names.has("suffix") !== true) return undefined;
  return (texts, now) => renderGoInsert(template, texts, { now });
}

/** A broken Go template beside a sound Jinja one hurts nobody. */
function readIfSound(source: string | undefined): GoTemplate | undefined {
  try {
    return source === undefined ? undefined : readGoTemplate(source);
  } catch (problem) {
    if (problem instanceof FailureError) return undefined;
    throw problem;
  }
}
