/** A message, independent of any API's format. Its text and arguments come from the client, unchecked. */
export type Message =
  | { readonly role: "system"; readonly content: string }
  | {
      readonly role: "user";
      readonly content: string;
      readonly images?: readonly Image[];
      readonly audio?: readonly AudioClip[];
    }
  | {
      readonly role: "assistant";
      /** Null for a turn of tool calls only; templates render that differently from an empty string. */
      readonly content: string | null;
      readonly reasoning?: string;
      readonly toolCalls?: readonly ToolCall[];
    }
  | {
      readonly role: "tool";
      readonly content: string;
      readonly toolCallId?: string;
      readonly toolName?: string;
    };

export type Image = { readonly bytes: Uint8Array; readonly mediaType: string };

/** A sound file, complete with its header. */
export type AudioClip = {
  readonly bytes: Uint8Array;
  readonly mediaType: "audio/wav" | "audio/mpeg" | "audio/flac";
  readonly seconds: number;
};

export type Medium = Image | AudioClip;

export type ToolCall = {
  readonly id: string;
  readonly name: string;
  /** Parsed, because each template serializes them in its own way. */
  readonly arguments: JsonObject;
};

export type Tool = {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments. */
  readonly parameters?: JsonObject;
  /** Reject a schema that cannot be enforced exactly. Not part of the prompt. */
  readonly isStrict?: boolean;
};

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue };

/** For a value that was parsed from JSON. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Everything a chat template renders into a prompt. */
export type Conversation = {
  readonly messages: readonly Message[];
  readonly tools?: readonly Tool[];
  /** Turns thinking on or off; absent uses the default of the model's template. */
  readonly thinking?: boolean;
  /** Additional template variables, such as a reasoning effort. */
  readonly templateVariables?: JsonObject;
  /** A Go template that replaces the model's own template for this conversation only. */
  readonly goTemplate?: string;
};

/** What an engine supports besides text; the names are those of its description. */
export type MediaSupport = { readonly canSeeImages: boolean; readonly canHearAudio: boolean };

/** The first kind of media in a conversation that an engine does not support, as failures name it. */
export function findUnsupportedMedia(
  { messages }: Pick<Conversation, "messages">,
  { canSeeImages, canHearAudio }: MediaSupport,
): "images" | "audio input" | undefined {
  const has = (kind: "images" | "audio"): boolean =>
    messages.some((message) => message.role === "user" && (message[kind] ?? []).length > 0);
  if (!canSeeImages && has("images")) return "images";
  return !canHearAudio && has("audio") ? "audio input" : undefined;
}
