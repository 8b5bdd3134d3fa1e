import { randomBytes } from "node:crypto";
import type { PreparationThread } from "@hearth-and-keep/chat-templates";
import {
  type Conversation,
  type EngineFailure,
  type EngineRequest,
  findUnsupportedMedia,
  type MediaSupport,
  type Medium,
  type Message,
} from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { fieldsOf, numbersOf } from "../wire/json-fields.ts";
import type { ModelFacts } from "./model-facts.ts";
import type { SupervisedEngine } from "./supervise-engine.ts";

/** A prompt in the engine's format: tokens, or text with a marker for each image and sound. */
export type Prompt =
  | { readonly type: "tokens"; readonly tokens: readonly number[] }
  | {
      readonly type: "media";
      readonly text: string;
      /** The text around the media; each segment is tokenized separately. */
      readonly segments: readonly string[];
      readonly media: readonly Medium[];
    };

export type PromptDependencies = {
  readonly engine: SupervisedEngine;
  readonly thread: PreparationThread;
  readonly facts: ModelFacts;
  readonly addsBeginning: boolean;
  /** The marker for an image or sound in a text; undefined if the model supports neither. */
  readonly mediaMarker: string | undefined;
  readonly support: MediaSupport;
};

export type Prompts = {
  render(conversation: Conversation): Promise<string>;
  prompt(input: EngineRequest["input"], signal: AbortSignal): Promise<Prompt>;
  tokenize(text: string, signal: AbortSignal): Promise<readonly number[]>;
};

/** Prepares prompts for one model: rendered by us, tokenized by the engine. */
export function createPrompts(dependencies: PromptDependencies): Prompts {
  const { engine, thread, facts, addsBeginning } = dependencies;
  // Callers that render a conversation usually generate from the same one next.
  const renderings = new WeakMap<Conversation, Promise<string>>();
  const renderOnce = (conversation: Conversation): Promise<string> => {
    const rendering = renderings.get(conversation) ?? thread.render(conversation);
    renderings.set(conversation, rendering);
    return rendering;
  };
  const tokenizeAs = async (
    content: string,
    parsesSpecial: boolean,
    signal: AbortSignal,
  ): Promise<readonly number[]> => {
    const body = { content, add_special: false, parse_special: parsesSpecial };
    return numbersOf(fieldsOf(await engine.request({ path: "/tokenize", body }, signal))["tokens"]);
  };
  const tokenize = (text: string, signal: AbortSignal) => tokenizeAs(text, true, signal);
  /** Some models expect a first token that the template may or may not have written. */
  const withBeginning = (tokens: readonly number[]): Prompt => {
    const { beginningToken } = facts;
    const isMissing = addsBeginning && beginningToken !== undefined && tokens[0] !== beginningToken;
    return { type: "tokens", tokens: isMissing ? [beginningToken, ...tokens] : tokens };
  };
  const fromText = async (text: string, signal: AbortSignal) => withBeginning(await tokenize(text, signal));
  const fillIn = async (texts: { prefix: string; suffix: string }, signal: AbortSignal): Promise<Prompt> => {
    const rendered = await thread.renderInsert(texts);
    if (rendered !== undefined) return fromText(rendered, signal);
    if (facts.infill === undefined) throw notSupported("fill-in-the-middle");
    const { prefix, suffix, middle } = facts.infill;
    const before = await tokenizeAs(texts.prefix, false, signal);
    const after = await tokenizeAs(texts.suffix, false, signal);
    return withBeginning([prefix, ...before, suffix, ...after, middle]);
  };
  return {
    tokenize,
    render(conversation) {
      if (mediaOf(conversation).length === 0) return renderOnce(conversation);
      return thread.render(withMarkers(conversation, requireMarker(conversation, dependencies)));
    },
    prompt(input, signal) {
      if (input.type === "raw") return fromText(input.prompt, signal);
      if (input.type === "fill-in-the-middle") return fillIn(input, signal);
      const { conversation } = input;
      const media = mediaOf(conversation);
      if (media.length === 0) return renderOnce(conversation).then((text) => fromText(text, signal));
      const mediaMarker = requireMarker(conversation, dependencies);
      return renderWithMedia(conversation, { thread, media, mediaMarker });
    },
  };
}

/** The media marker, if the model supports every kind of media in the conversation. */
function requireMarker(conversation: Conversation, { mediaMarker, support }: PromptDependencies): string {
  const unsupported = findUnsupportedMedia(conversation, support);
  if (unsupported !== undefined) throw notSupported(unsupported);
  if (mediaMarker === undefined) throw notSupported("media in prompts");
  return mediaMarker;
}

type MediaContext = {
  readonly thread: PreparationThread;
  readonly media: readonly Medium[];
  readonly mediaMarker: string;
};

/** A marker that the engine still recognizes. */
const legacyMarker = "<__image__>";

/**
 * Media are rendered as unguessable placeholders, so that a media marker in the text of a message can be told apart from
 * ours and escaped.
 */
async function renderWithMedia(conversation: Conversation, context: MediaContext): Promise<Prompt> {
  const { thread, media, mediaMarker } = context;
  const placeholder = `[media ${randomBytes(12).toString("hex")}]`;
  const rendered = await thread.render(withMarkers(conversation, placeholder));
  const segments = rendered
    .split(placeholder)
    .map((segment) => escapeMarker(escapeMarker(segment, mediaMarker), legacyMarker));
  if (segments.length - 1 !== media.length) {
    const reason = "it does not render every image and sound exactly once";
    throw new FailureError<EngineFailure>({ kind: "template-failed", reason });
  }
  // The engine crashes if no text follows the last one.
  if (segments.at(-1) === "") segments.splice(-1, 1, "\n");
  return { type: "media", text: segments.join(mediaMarker), segments, media };
}

function escapeMarker(text: string, marker: string): string {
  return text.replaceAll(marker, `${marker.slice(0, 1)} ${marker.slice(1)}`);
}

/**
 * Puts a marker for each image and then each sound directly before the text of its message, as llama.cpp does, and removes
 * the media themselves.
 */
function withMarkers(conversation: Conversation, placeholder: string): Conversation {
  return {
    ...conversation,
    messages: conversation.messages.map((message): Message => {
      const { length } = mediaOf({ messages: [message] });
      return message.role !== "user" || length === 0
        ? message
        : { role: "user", content: placeholder.repeat(length) + message.content };
    }),
  };
}

/** In the order of their markers. */
function mediaOf({ messages }: Conversation): readonly Medium[] {
  return messages.flatMap((message) =>
    message.role === "user" ? [...(message.images ?? []), ...(message.audio ?? [])] : [],
  );
}

export function notSupported(feature: string): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "not-supported", feature });
}
