/** How an answer came to its end. */
export type Ending = "done" | "length" | "stopped" | "cut" | "failed";

export type Question = {
  readonly id: string;
  readonly role: "user";
  readonly text: string;
  /** As data addresses. */
  readonly images: readonly string[];
};

export type AnswerTurn = {
  readonly id: string;
  readonly role: "assistant";
  readonly model: string;
  readonly text: string;
  readonly thinking: string;
  readonly ending: Ending;
  /** What went wrong and what to do, when something did. */
  readonly problem?: { readonly sentence: string; readonly nextStep: string };
  readonly figures?: Figures;
};

export type Figures = {
  readonly tokens: number;
  readonly tokensPerSecond: number;
  readonly firstTokenSeconds: number;
};

export type Turn = Question | AnswerTurn;

export type Settings = {
  readonly system: string;
  /** By the names of the API; what is not there is left to the model. */
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

export const noSettings: Settings = { system: "", options: {} };

const mostTitleCharacters = 60;

/** As a UUID. Not by `randomUUID`, which browsers have only where a page came by HTTPS or from this machine. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/u, "$1-$2-$3-$4-");
}

export function newConversation(model: string, settings: Settings): Conversation {
  return { id: newId(), title: "New chat", model, changedAt: Date.now(), turns: [], settings };
}

export function titleOf(text: string): string {
  const line = text.trim().replaceAll(/\s+/gu, " ");
  return line.length <= mostTitleCharacters ? line : `${line.slice(0, mostTitleCharacters - 1)}…`;
}

/** As the API takes it; what was stopped or cut off is still what was said. */
export function messagesOf({ turns, settings }: Pick<Conversation, "turns" | "settings">): readonly object[] {
  const system = settings.system.trim() === "" ? [] : [{ role: "system", content: settings.system }];
  const said = turns.filter((turn) => turn.role === "user" || turn.text !== "");
  return [
    ...system,
    ...said.map((turn) => ({
      role: turn.role,
      content: turn.text,
      ...(turn.role === "user" && turn.images.length > 0
        ? { images: turn.images.map((image) => image.slice(image.indexOf(",") + 1)) }
        : {}),
    })),
  ];
}
