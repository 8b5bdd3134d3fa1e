import type { ModelFile } from "@hearth-and-keep/gguf";

/** The template sources of a model. */
export type TemplateTexts = {
  readonly default: string | null;
  /** Used instead for conversations with tools. */
  readonly forTools?: string;
  /** A Go template. */
  readonly goTemplate?: string;
};

export function templateTextsOf(
  { chatTemplate, metadata }: Pick<ModelFile, "chatTemplate" | "metadata">,
  goTemplate: string | undefined,
): TemplateTexts {
  const forTools = metadata.get("tokenizer.chat_template.tool_use")?.value;
  return {
    default: chatTemplate,
    ...(typeof forTools === "string" ? { forTools } : {}),
    ...(goTemplate === undefined ? {} : { goTemplate }),
  };
}
