import type { Suggestion } from "../server-api/suggestion.ts";

/** How a response ended. */
export type Ending = "done" | "length" | "stopped" | "cut" | "failed";

export type PromptTurn = {
  readonly id: string;
  readonly role: "user";
  readonly text: string;
  /** As data URLs. */
  readonly images: readonly string[];
};

export type ResponseTurn = {
  readonly id: string;
  readonly role: "assistant";
  readonly model: string;
  readonly text: string;
  readonly thinking: string;
  readonly thinkingSeconds?: number;
  readonly ending: Ending;
  readonly error?: { readonly message: string; readonly suggestion?: Suggestion | undefined };
  readonly stats?: ResponseStats;
};

export type ResponseStats = {
  readonly tokens: number;
  readonly tokensPerSecond: number;
  readonly firstTokenSeconds: number;
};

export type Turn = PromptTurn | ResponseTurn;

export type Settings = {
  readonly system: string;
  /** By the API's names. Missing options use the model's defaults. */
  readonly options: Readonly<Record<string, number>>;
};

export type Conversation = {
  readonly id: string;
  readonly title: string;
  readonly model: string;
  readonly changedAt: number;
  readonly turns: readonly Turn[];
  readonly settings: Settings;
};

export const defaultSettings: Settings = { system: "", options: {} };

const maxTitleCharacters = 60;

/** A random UUID. Browsers provide `crypto.randomUUID` only on HTTPS and localhost. */
export function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/u, "$1-$2-$3-$4-");
}

export function createConversation(model: string, settings: Settings): Conversation {
  return { id: createId(), title: "New chat", model, changedAt: Date.now(), turns: [], settings };
}

export function createTitle(text: string): string {
  const line = text.trim().replaceAll(/\s+/gu, " ");
  return line.length <= maxTitleCharacters ? line : `${line.slice(0, maxTitleCharacters - 1)}…`;
}

/** The `messages` of `/api/chat`. Responses that were stopped or cut off are part of the conversation. */
export function toMessages({ turns, settings }: Pick<Conversation, "turns" | "settings">): readonly object[] {
  const system = settings.system.trim() === "" ? [] : [{ role: "system", content: settings.system }];
  const nonEmpty = turns.filter((turn) => turn.role === "user" || turn.text !== "");
  return [
    ...system,
    ...nonEmpty.map((turn) => ({
      role: turn.role,
      content: turn.text,
      ...(turn.role === "user" && turn.images.length > 0
        ? { images: turn.images.map((image) => image.slice(image.indexOf(",") + 1)) }
        : {}),
    })),
  ];
}
