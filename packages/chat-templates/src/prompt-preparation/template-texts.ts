import type { ModelFile } from "@hearth-and-keep/gguf";

/** The texts that a model's prompts are made by, whichever of them it has. */
export type TemplateTexts = {
  readonly usual: string | null;
  /** Used instead when tools are offered. */
  readonly forTools?: string;
  /** In Go's language. */
  readonly goTemplate?: string;
};

export function templateTextsOf(
  { chatTemplate, metadata }: Pick<ModelFile, "chatTemplate" | "metadata">,
  goTemplate: string | undefined,
): TemplateTexts {
  const forTools = metadata.get("tokenizer.chat_template.tool_use")?.value;
  return {
    usual: chatTemplate,
    ...(typeof forTools === "string" ? { forTools } : {}),
    ...(goTemplate === undefined ? {} : { goTemplate }),
  };
}
