import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import {
  type Conversation,
  type EngineFailure,
  type EngineRequest,
  findUnsupportedMedia,
} from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { LlamaModel, Token } from "node-llama-cpp";
import type { LoadedModel } from "./load-model.ts";
import { sliceLength, sliceText, type TextCuts, tokenizeSlices } from "./slice-text.ts";

export type PromptTokenizer = {
  readonly render: (conversation: Conversation) => Promise<string>;
  /** The prompt of a request as tokens, for any kind of input. */
  readonly tokenizeInput: (input: EngineRequest["input"]) => Promise<readonly Token[]>;
  readonly tokenizeText: (text: string) => Promise<readonly Token[]>;
};

type TokenizerModel = Pick<
  LoadedModel,
  "model" | "preparation" | "maxTokenBytes" | "textCuts" | "description"
>;

export function createPromptTokenizer({
  model,
  preparation: { forModel, forClients },
  maxTokenBytes,
  textCuts,
  description: { trainedContextTokens },
}: TokenizerModel): PromptTokenizer {
  const render = async (conversation: Conversation): Promise<string> => {
    rejectMedia(conversation);
    return (conversation.goTemplate === undefined ? forModel : forClients).render(conversation);
  };
  const tokenize = async (text: string, hasSpecials: boolean): Promise<readonly Token[]> => {
    rejectLongText(text, { maxTokenBytes, contextTokens: trainedContextTokens });
    const tokenizeSlice = (slice: string): readonly Token[] => model.tokenize(slice, hasSpecials);
    const cuts = text.length > sliceLength ? textCuts() : undefined;
    return cuts === undefined ? tokenizeSlice(text) : tokenizeInSlices(text, cuts, tokenizeSlice);
  };
  const tokenizeText = (text: string): Promise<readonly Token[]> => tokenize(text, true);
  const tokenizePrompt = async (prompt: string): Promise<readonly Token[]> =>
    prependBos(model, await tokenizeText(prompt));
  return {
    render,
    tokenizeText,
    async tokenizeInput(input) {
      switch (input.type) {
        case "raw":
          return tokenizePrompt(input.prompt);
        case "conversation":
          return tokenizePrompt(await render(input.conversation));
        case "fill-in-the-middle": {
          const rendered = await forModel.renderInsert(input);
          if (rendered !== undefined) return tokenizePrompt(rendered);
          const { prefix, suffix, middle } = requireInfillTokens(model);
          const before = await tokenize(input.prefix, false);
          const after = await tokenize(input.suffix, false);
          return prependBos(model, [prefix, ...before, suffix, ...after, middle]);
        }
      }
    },
  };
}

/** Decoding continues between the slices. */
async function tokenizeInSlices(
  text: string,
  cuts: TextCuts,
  tokenize: (slice: string) => readonly Token[],
): Promise<readonly Token[]> {
  const tokens: (readonly Token[])[] = [];
  for (const slice of tokenizeSlices(sliceText(text, cuts), cuts, tokenize)) {
    tokens.push(slice);
    await yieldToEventLoop();
  }
  return tokens.flat();
}

/** Tokenizing megabytes takes seconds; a text that fits into no context of this model is rejected by its length. */
function rejectLongText(
  text: string,
  { maxTokenBytes, contextTokens }: { maxTokenBytes: number | undefined; contextTokens: number },
): void {
  if (maxTokenBytes === undefined) return;
  const promptTokens = Math.floor(Buffer.byteLength(text) / maxTokenBytes);
  if (promptTokens < contextTokens) return;
  throw new FailureError<EngineFailure>({ kind: "prompt-too-long", promptTokens, contextTokens });
}

function rejectMedia(conversation: Conversation): void {
  const feature = findUnsupportedMedia(conversation, { canSeeImages: false, canHearAudio: false });
  if (feature !== undefined) throw new FailureError<EngineFailure>({ kind: "not-supported", feature });
}

/** Some models need a BOS token, which a template may or may not have rendered. */
function prependBos(model: LlamaModel, tokens: readonly Token[]): readonly Token[] {
  const { bos, shouldPrependBosToken } = model.tokens;
  return shouldPrependBosToken && bos !== null && tokens[0] !== bos ? [bos, ...tokens] : tokens;
}

type InfillTokens = { readonly prefix: Token; readonly suffix: Token; readonly middle: Token };

function requireInfillTokens(model: LlamaModel): InfillTokens {
  const { prefix, suffix, middle } = model.tokens.infill;
  if (prefix === null || suffix === null || middle === null) {
    throw new FailureError<EngineFailure>({ kind: "not-supported", feature: "fill-in-the-middle" });
  }
  return { prefix, suffix, middle };
}
