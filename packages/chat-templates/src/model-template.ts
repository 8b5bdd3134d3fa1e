import type { Conversation, TemplateCapabilities } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { parseChatTemplate, type TemplateSources } from "./chat-template.ts";
import {
  type GoTemplate,
  parseGoSource,
  renderGoInsert,
  renderGoTemplate,
} from "./go-template/render-go-template.ts";
import { type RenderOptions, renderChatTemplate } from "./render-chat-template.ts";

/** Renders prompts for one model, from a Jinja or a Go template. */
export type ModelTemplate = {
  readonly capabilities: TemplateCapabilities;
  readonly render: (conversation: Conversation, options: RenderOptions) => string;
  /** Undefined if the template does not support fill-in-the-middle; then the model's own tokens are used. */
  readonly renderInsert: ((texts: InsertTexts, now: Date) => string) | undefined;
};

type InsertTexts = { readonly prefix: string; readonly suffix: string };

/** The model file's Jinja template takes precedence over the Go template it came with; throws `template-failed`. */
export function parseModelTemplate(sources: TemplateSources, goSource: string | undefined): ModelTemplate {
  if (goSource !== undefined && sources.default === null && sources.forTools === undefined) {
    const template = parseGoSource(goSource);
    const { names } = template;
    return {
      capabilities: { tools: names.has("tools"), thinking: names.has("think") || names.has("thinking") },
      render: (conversation, { now }) => renderGoTemplate(template, conversation, { now }),
      renderInsert: createInsertRenderer(template),
    };
  }
  const template = parseChatTemplate(sources);
  const { supportsTools, supportsThinking } = template.default.capabilities;
  return {
    capabilities: { tools: supportsTools || template.forTools !== undefined, thinking: supportsThinking },
    render: (conversation, options) => renderChatTemplate(template, conversation, options),
    renderInsert: createInsertRenderer(parseIfValid(goSource)),
  };
}

function createInsertRenderer(template: GoTemplate | undefined): ModelTemplate["renderInsert"] {
  if (template?.names.has("suffix") !== true) return undefined;
  return (texts, now) => renderGoInsert(template, texts, { now });
}

/** An invalid Go template is ignored if there is a valid Jinja one. */
function parseIfValid(source: string | undefined): GoTemplate | undefined {
  try {
    return source === undefined ? undefined : parseGoSource(source);
  } catch (error) {
    if (error instanceof FailureError) return undefined;
    throw error;
  }
}
