import type { SpecialTokens } from "@hearth-and-keep/chat-templates";
import { renderConversation, templateIfSound } from "@hearth-and-keep/chat-templates";
import type { Conversation, EngineFailure, GenerateRequest } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { LlamaModel, Token } from "node-llama-cpp";
import type { HostedModel } from "./hosted-model.ts";

export type Preparer = {
  readonly render: (conversation: Conversation) => string;
  /** The tokens a request starts from, whatever form its input has. */
  readonly tokenizeInput: (input: GenerateRequest["input"]) => readonly Token[];
};

/** What a model needs to make prompts. */
export function createPreparer({
  model,
  chatTemplate,
}: Pick<HostedModel, "model" | "chatTemplate">): Preparer {
  const specialTokens = specialTokensOf(model);
  const render = (conversation: Conversation): string => {
    refuseImages(conversation);
    return renderConversation(chatTemplate, conversation, specialTokens);
  };
  const renderInsert = templateIfSound(chatTemplate)?.renderInsert;
  const tokenizePrompt = (prompt: string): readonly Token[] =>
    withBeginning(model, model.tokenize(prompt, true));
  return {
    render,
    tokenizeInput(input) {
      switch (input.type) {
        case "raw":
          return tokenizePrompt(input.prompt);
        case "conversation":
          return tokenizePrompt(render(input.conversation));
        case "fill-in-the-middle":
          return renderInsert === undefined
            ? fillInTheMiddle(model, input)
            : tokenizePrompt(renderInsert(input, new Date()));
      }
    },
  };
}

function refuseImages({ messages }: Conversation): void {
  const hasImages = messages.some((message) => message.role === "user" && (message.images ?? []).length > 0);
  if (hasImages) throw new FailureError<EngineFailure>({ kind: "not-supported", feature: "images" });
}

function specialTokensOf({ tokens, fileInfo }: LlamaModel): SpecialTokens {
  return {
    beginning: tokens.bosString ?? "",
    end: tokens.eosString ?? "",
    addsBeginning: tokens.shouldPrependBosToken,
    addsEnd: fileInfo.metadata.tokenizer?.ggml?.add_eos_token === true,
  };
}

/** Some models expect a first token that templates may or may not have written. */
function withBeginning(model: LlamaModel, tokens: readonly Token[]): readonly Token[] {
  const { bos, shouldPrependBosToken } = model.tokens;
  return shouldPrependBosToken && bos !== null && tokens[0] !== bos ? [bos, ...tokens] : tokens;
}

function fillInTheMiddle(
  model: LlamaModel,
  input: { readonly prefix: string; readonly suffix: string },
): readonly Token[] {
  const { prefix, suffix, middle } = model.tokens.infill;
  if (prefix === null || suffix === null || middle === null) {
    throw new FailureError<EngineFailure>({ kind: "not-supported", feature: "fill-in-the-middle" });
  }
  return withBeginning(model, [
    prefix,
    ...model.tokenize(input.prefix, false),
    suffix,
    ...model.tokenize(input.suffix, false),
    middle,
  ]);
}
