import { randomBytes } from "node:crypto";
import type { PreparingThread } from "@hearth-and-keep/chat-templates";
import type { Conversation, EngineFailure, EngineRequest, Image, Message } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { fieldsOf, numbersOf } from "../wire/json-fields.ts";
import type { ModelFacts } from "./model-facts.ts";
import type { SupervisedEngine } from "./supervise-engine.ts";

/** A prompt as the engine takes it: tokens, or text with a marker in the place of each image. */
export type Prompt =
  | { readonly type: "tokens"; readonly tokens: readonly number[] }
  | {
      readonly type: "images";
      readonly text: string;
      /** The words around the images, each cut into tokens by itself. */
      readonly pieces: readonly string[];
      readonly images: readonly Image[];
    };

export type PromptDependencies = {
  readonly engine: SupervisedEngine;
  readonly thread: PreparingThread;
  readonly facts: ModelFacts;
  readonly addsBeginning: boolean;
  /** What stands for an image in a text; undefined when the model cannot see. */
  readonly mediaMarker: string | undefined;
};

export type Prompts = {
  render(conversation: Conversation): Promise<string>;
  prompt(input: EngineRequest["input"], signal: AbortSignal): Promise<Prompt>;
  tokenize(text: string, signal: AbortSignal): Promise<readonly number[]>;
};

/** What makes prompts for one model: our own rendering, the engine's own tokens. */
export function createPrompts(parts: PromptDependencies): Prompts {
  const { engine, thread, facts, addsBeginning, mediaMarker } = parts;
  // Whoever asks how a prompt ends has the same conversation answered next.
  const renderings = new WeakMap<Conversation, Promise<string>>();
  const renderOnce = (conversation: Conversation): Promise<string> => {
    const known = renderings.get(conversation) ?? thread.render(conversation);
    renderings.set(conversation, known);
    return known;
  };
  const tokenizeAs = async (
    content: string,
    readsSpecial: boolean,
    signal: AbortSignal,
  ): Promise<readonly number[]> => {
    const body = { content, add_special: false, parse_special: readsSpecial };
    return numbersOf(fieldsOf(await engine.ask({ path: "/tokenize", body }, signal))["tokens"]);
  };
  const tokenize = (text: string, signal: AbortSignal) => tokenizeAs(text, true, signal);
  /** Some models expect a first token that templates may or may not have written. */
  const withBeginning = (tokens: readonly number[]): Prompt => {
    const { beginningToken } = facts;
    const isMissing = addsBeginning && beginningToken !== undefined && tokens[0] !== beginningToken;
    return { type: "tokens", tokens: isMissing ? [beginningToken, ...tokens] : tokens };
  };
  const ofText = async (text: string, signal: AbortSignal) => withBeginning(await tokenize(text, signal));
  const fillIn = async (texts: { prefix: string; suffix: string }, signal: AbortSignal): Promise<Prompt> => {
    const rendered = await thread.renderInsert(texts);
    if (rendered !== undefined) return ofText(rendered, signal);
    if (facts.infill === undefined) throw notSupported("fill-in-the-middle");
    const { prefix, suffix, middle } = facts.infill;
    const before = await tokenizeAs(texts.prefix, false, signal);
    const after = await tokenizeAs(texts.suffix, false, signal);
    return withBeginning([prefix, ...before, suffix, ...after, middle]);
  };
  return {
    tokenize,
    render(conversation) {
      if (imagesOf(conversation).length === 0) return renderOnce(conversation);
      if (mediaMarker === undefined) throw notSupported("images");
      return thread.render(withImageMarks(conversation, mediaMarker));
    },
    prompt(input, signal) {
      if (input.type === "raw") return ofText(input.prompt, signal);
      if (input.type === "fill-in-the-middle") return fillIn(input, signal);
      const { conversation } = input;
      const images = imagesOf(conversation);
      if (images.length === 0) return renderOnce(conversation).then((text) => ofText(text, signal));
      if (mediaMarker === undefined) throw notSupported("images");
      return renderWithImages(conversation, { thread, images, mediaMarker });
    },
  };
}

type SeeingParts = {
  readonly thread: PreparingThread;
  readonly images: readonly Image[];
  readonly mediaMarker: string;
};

/** What the engine once took for a marker too. */
const oldMarker = "<__image__>";

/**
 * Images are rendered as marks that nobody can guess, so that a marker in somebody's words, wherever they come from,
 * can be told from ours and broken up.
 */
async function renderWithImages(conversation: Conversation, parts: SeeingParts): Promise<Prompt> {
  const { thread, images, mediaMarker } = parts;
  const mark = `[image ${randomBytes(12).toString("hex")}]`;
  const rendered = await thread.render(withImageMarks(conversation, mark));
  const pieces = rendered.split(mark).map((piece) => breakUp(breakUp(piece, mediaMarker), oldMarker));
  if (pieces.length - 1 !== images.length) {
    const reason = "it does not show every image exactly once";
    throw new FailureError<EngineFailure>({ kind: "template-failed", reason });
  }
  // The engine ends itself when nothing at all follows the last image.
  if (pieces.at(-1) === "") pieces.splice(-1, 1, "\n");
  return { type: "images", text: pieces.join(mediaMarker), pieces, images };
}

function breakUp(text: string, marker: string): string {
  return text.replaceAll(marker, `${marker.slice(0, 1)} ${marker.slice(1)}`);
}

/** Each image right before the words it came with, as llama.cpp itself puts them. The pictures themselves stay here. */
function withImageMarks(conversation: Conversation, mark: string): Conversation {
  return {
    ...conversation,
    messages: conversation.messages.map((message): Message => {
      if (message.role !== "user" || message.images === undefined) return message;
      return { role: "user", content: mark.repeat(message.images.length) + message.content };
    }),
  };
}

function imagesOf({ messages }: Conversation): readonly Image[] {
  return messages.flatMap((message) => (message.role === "user" ? (message.images ?? []) : []));
}

export function notSupported(feature: string): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "not-supported", feature });
}
