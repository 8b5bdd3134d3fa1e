import { defaultSettings, type Settings } from "./conversation.ts";
import { createStore } from "./store.ts";

/** A message that has not been sent yet. */
export type Draft = {
  readonly text: string;
  /** As data URLs. */
  readonly images: readonly string[];
  /** For a chat without messages; once it has some, the conversation stores its settings. */
  readonly settings: Settings;
};

/** Stands in for the id of a chat without messages. */
export const newChatId = "new";
export const emptyDraft: Draft = { text: "", images: [], settings: defaultSettings };

/** By conversation, until the page is reloaded. */
export const drafts = createStore<ReadonlyMap<string, Draft>>(new Map());

export function updateDraft(id: string, change: (draft: Draft) => Partial<Draft>): void {
  drafts.set((all) => {
    const draft = all.get(id) ?? emptyDraft;
    return new Map(all).set(id, { ...draft, ...change(draft) });
  });
}

export function deleteDraft(id: string): void {
  drafts.set((all) => new Map([...all].filter(([other]) => other !== id)));
}
