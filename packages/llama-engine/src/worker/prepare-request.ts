import { FailureError } from "@hearth-and-keep/failures";
import type { LlamaModel, Token } from "node-llama-cpp";
import type { Conversation } from "../port/conversation.ts";
import type { EngineFailure, GenerateRequest } from "../port/engine.ts";
import type { OutputConstraint } from "../port/sampling.ts";

/** The tokens a request starts from, whatever form its input has. */
export async function tokenizeInput(
  model: LlamaModel,
  input: GenerateRequest["input"],
): Promise<readonly Token[]> {
  switch (input.type) {
    case "raw":
      return withBeginning(model, model.tokenize(input.prompt, true));
    case "conversation":
      return withBeginning(model, model.tokenize(await renderConversation(model, input.conversation), true));
    case "fill-in-the-middle":
      return fillInTheMiddle(model, input);
  }
}

export async function renderConversation(model: LlamaModel, conversation: Conversation): Promise<string> {
  void model;
  void conversation;
  throw new FailureError<EngineFailure>({ kind: "not-supported", feature: "chat templates" });
}

/** GBNF for what the answer must look like; undefined when anything goes. */
export function grammarFor(constraint: OutputConstraint | undefined): string | undefined {
  if (constraint === undefined) return undefined;
  throw new FailureError<EngineFailure>({ kind: "not-supported", feature: constraint.type });
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
  const { bos, shouldPrependBosToken } = model.tokens;
  const beginning = shouldPrependBosToken && bos !== null ? [bos] : [];
  return [
    ...beginning,
    prefix,
    ...model.tokenize(input.prefix, false),
    suffix,
    ...model.tokenize(input.suffix, false),
    middle,
  ];
}
