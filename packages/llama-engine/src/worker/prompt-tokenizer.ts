import type { Conversation, EngineFailure, EngineRequest } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { LlamaModel, Token } from "node-llama-cpp";
import type { LoadedModel } from "./load-model.ts";

export type PromptTokenizer = {
  readonly render: (conversation: Conversation) => Promise<string>;
  /** The prompt of a request as tokens, for any kind of input. */
  readonly tokenizeInput: (input: EngineRequest["input"]) => Promise<readonly Token[]>;
};

export function createPromptTokenizer({
  model,
  preparation: { forModel, forClients },
  maxTokenBytes,
  description: { contextTokens },
}: Pick<LoadedModel, "model" | "preparation" | "maxTokenBytes" | "description">): PromptTokenizer {
  const render = async (conversation: Conversation): Promise<string> => {
    rejectImages(conversation);
    return (conversation.goTemplate === undefined ? forModel : forClients).render(conversation);
  };
  const tokenizePrompt = (prompt: string): readonly Token[] => {
    rejectLongText(prompt, { maxTokenBytes, contextTokens });
    return prependBos(model, model.tokenize(prompt, true));
  };
  return {
    render,
    async tokenizeInput(input) {
      switch (input.type) {
        case "raw":
          return tokenizePrompt(input.prompt);
        case "conversation":
          return tokenizePrompt(await render(input.conversation));
        case "fill-in-the-middle": {
          const rendered = await forModel.renderInsert(input);
          return rendered === undefined ? tokenizeInfill(model, input) : tokenizePrompt(rendered);
        }
      }
    },
  };
}

/** Tokenizing megabytes takes seconds; a text that cannot fit into the context is rejected by its length. */
function rejectLongText(
  text: string,
  { maxTokenBytes, contextTokens }: { maxTokenBytes: number | undefined; contextTokens: number },
): void {
  if (maxTokenBytes === undefined) return;
  const promptTokens = Math.floor(Buffer.byteLength(text) / maxTokenBytes);
  if (promptTokens < contextTokens) return;
  throw new FailureError<EngineFailure>({ kind: "prompt-too-long", promptTokens, contextTokens });
}

function rejectImages({ messages }: Conversation): void {
  const hasImages = messages.some((message) => message.role === "user" && (message.images ?? []).length > 0);
  if (hasImages) throw new FailureError<EngineFailure>({ kind: "not-supported", feature: "images" });
}

/** Some models need a BOS token, which a template may or may not have rendered. */
function prependBos(model: LlamaModel, tokens: readonly Token[]): readonly Token[] {
  const { bos, shouldPrependBosToken } = model.tokens;
  return shouldPrependBosToken && bos !== null && tokens[0] !== bos ? [bos, ...tokens] : tokens;
}

function tokenizeInfill(
  model: LlamaModel,
  input: { readonly prefix: string; readonly suffix: string },
): readonly Token[] {
  const { prefix, suffix, middle } = model.tokens.infill;
  if (prefix === null || suffix === null || middle === null) {
    throw new FailureError<EngineFailure>({ kind: "not-supported", feature: "fill-in-the-middle" });
  }
  return prependBos(model, [
    prefix,
    ...model.tokenize(input.prefix, false),
    suffix,
    ...model.tokenize(input.suffix, false),
    middle,
  ]);
}
