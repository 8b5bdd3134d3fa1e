/** What was said so far, in words that belong to no protocol. Texts and arguments are the caller's, unchecked by us. */
export type Message =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string; readonly images?: readonly Image[] }
  | {
      readonly role: "assistant";
      /** Null when the turn was tool calls only; templates tell it from an empty text. */
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

export type ToolCall = {
  readonly id: string;
  readonly name: string;
  /** Parsed, because templates print them in their own way. */
  readonly arguments: JsonObject;
};

export type Tool = {
  readonly name: string;
  readonly description?: string;
  /** A JSON Schema of the arguments. */
  readonly parameters?: JsonObject;
};

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue };

/** A conversation as a template renders it. */
export type Conversation = {
  readonly messages: readonly Message[];
  readonly tools?: readonly Tool[];
  /** Asks a thinking model to think or not; absent leaves it to the model's template. */
  readonly thinking?: boolean;
  /** Further variables some templates know, such as a reasoning effort. */
  readonly templateVariables?: JsonObject;
  /** A template in Go's language, in place of the model's own for this conversation alone. */
  readonly goTemplate?: string;
};
