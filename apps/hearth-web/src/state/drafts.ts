import { noSettings, type Settings } from "./conversation.ts";
import { createStore } from "./store.ts";

/** A question that is being written. */
export type Draft = {
  readonly text: string;
  /** As data addresses. */
  readonly images: readonly string[];
  /** What a chat that has not begun is to ask of the model; later the chat has its own. */
  readonly settings: Settings;
};

/** Of the chat that has no id yet. */
export const newChat = "new";
export const noDraft: Draft = { text: "", images: [], settings: noSettings };

/** By conversation, for as long as the page is open. */
export const drafts = createStore<ReadonlyMap<string, Draft>>(new Map());

export function changeDraft(id: string, how: (draft: Draft) => Partial<Draft>): void {
  drafts.set((all) => {
    const known = all.get(id) ?? noDraft;
    return new Map(all).set(id, { ...known, ...how(known) });
  });
}

export function dropDraft(id: string): void {
  drafts.set((all) => new Map([...all].filter(([other]) => other !== id)));
}
