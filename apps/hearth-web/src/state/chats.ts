import {
  type Conversation,
  createConversation,
  createId,
  createTitle,
  type PromptTurn,
  type Settings,
} from "./conversation.ts";
import {
  deleteAllConversations,
  deleteConversation,
  loadConversations,
  saveConversation,
  savePartialResponse,
  splitByLimit,
} from "./conversation-database.ts";
import { deleteDraft } from "./drafts.ts";
import { createStore } from "./store.ts";
import { stopResponse, streamResponse } from "./stream-response.ts";

export type Chats = { readonly isLoaded: boolean; readonly list: readonly Conversation[] };

/** Newest first. */
export const chats = createStore<Chats>({ isLoaded: false, list: [] });

export async function loadChats(): Promise<void> {
  const saved = await loadConversations();
  chats.set(({ list }) => {
    const isNew = ({ id }: Conversation): boolean => list.every((started) => started.id !== id);
    return { isLoaded: true, list: [...list, ...saved.filter(isNew)] };
  });
}

function find(id: string): Conversation | undefined {
  return chats.get().list.find((conversation) => conversation.id === id);
}

/** Updates the list at once, and the database in the background. */
function save(conversation: Conversation): void {
  const others = chats.get().list.filter(({ id }) => id !== conversation.id);
  const { kept, surplus } = splitByLimit([conversation, ...others]);
  chats.set((state) => ({ ...state, list: kept }));
  void saveConversation(conversation);
  for (const { id } of surplus) void deleteChat(id);
}

export type NewPrompt = { readonly text: string; readonly images: readonly string[] };

/** Returns the conversation's id at once; the response is streamed in the background. */
export function startChat(start: { model: string; settings: Settings }, prompt: NewPrompt): string {
  const conversation = createConversation(start.model, start.settings);
  void addPrompt({ ...conversation, title: createTitle(prompt.text) || "Image" }, prompt);
  return conversation.id;
}

export async function continueChat(id: string, prompt: NewPrompt): Promise<void> {
  await stopAndWait(id);
  const conversation = find(id);
  if (conversation !== undefined) await addPrompt(conversation, prompt);
}

/** Replaces a prompt and everything after it, including a response that is still being streamed. */
export async function editPrompt(id: string, promptId: string, text: string): Promise<void> {
  await stopAndWait(id);
  const conversation = find(id);
  const index = conversation?.turns.findIndex((turn) => turn.id === promptId) ?? -1;
  const old = conversation?.turns[index];
  if (conversation === undefined || old?.role !== "user") return;
  const title = index === 0 ? createTitle(text) : conversation.title;
  const turns = conversation.turns.slice(0, index);
  await addPrompt({ ...conversation, title, turns }, { text, images: old.images });
}

/** Replaces the response to the last prompt. */
export async function regenerate(id: string): Promise<void> {
  await stopAndWait(id);
  const conversation = find(id);
  if (conversation === undefined) return;
  const last = conversation.turns.findLastIndex(({ role }) => role === "user");
  await respond({ ...conversation, turns: conversation.turns.slice(0, last + 1) });
}

function addPrompt(conversation: Conversation, { text, images }: NewPrompt): Promise<void> {
  const prompt: PromptTurn = { id: createId(), role: "user", text, images };
  return respond({ ...conversation, turns: [...conversation.turns, prompt] });
}

/** By conversation. Each settles once its response is part of the conversation. */
const pending = new Map<string, Promise<void>>();

async function stopAndWait(id: string): Promise<void> {
  stopResponse(id);
  await pending.get(id);
}

async function respond(conversation: Conversation): Promise<void> {
  const { id } = conversation;
  if (pending.has(id)) return;
  const response = addResponse({ ...conversation, changedAt: Date.now() });
  pending.set(id, response);
  await response.finally(() => pending.delete(id));
}

async function addResponse(conversation: Conversation): Promise<void> {
  const response = streamResponse(conversation, (partial) => {
    if (find(conversation.id) !== undefined) void savePartialResponse(conversation.id, partial);
  });
  save(conversation);
  const turn = await response;
  // The conversation may have been deleted, or its model changed, in the meantime.
  const current = find(conversation.id);
  if (current === undefined || turn === undefined) return;
  save({ ...current, changedAt: Date.now(), turns: [...conversation.turns, turn] });
}

export function updateChat(id: string, change: Partial<Pick<Conversation, "model" | "settings">>): void {
  const conversation = find(id);
  if (conversation !== undefined) save({ ...conversation, ...change });
}

export async function deleteChat(id: string): Promise<void> {
  chats.set((state) => ({ ...state, list: state.list.filter((chat) => chat.id !== id) }));
  stopResponse(id);
  deleteDraft(id);
  await deleteConversation(id);
}

export async function deleteAllChats(): Promise<void> {
  const { list } = chats.get();
  chats.set((state) => ({ ...state, list: [] }));
  for (const { id } of list) {
    stopResponse(id);
    deleteDraft(id);
  }
  await deleteAllConversations();
}
