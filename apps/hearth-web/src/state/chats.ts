import { liveAnswers, readAnswer } from "./answering.ts";
import { type Conversation, newConversation, type Question, type Settings, titleOf } from "./conversation.ts";
import {
  dropAllConversations,
  dropConversation,
  keepConversation,
  readConversations,
} from "./kept-conversations.ts";
import { createStore } from "./store.ts";

export type Chats = { readonly isLoaded: boolean; readonly list: readonly Conversation[] };

/** The newest first. */
export const chats = createStore<Chats>({ isLoaded: false, list: [] });

export async function loadChats(): Promise<void> {
  const kept = await readConversations();
  chats.set(({ list }) => ({ isLoaded: true, list: [...list, ...kept] }));
}

function find(id: string): Conversation | undefined {
  return chats.get().list.find((conversation) => conversation.id === id);
}

async function put(conversation: Conversation): Promise<void> {
  const others = chats.get().list.filter(({ id }) => id !== conversation.id);
  const list = [conversation, ...others];
  chats.set((known) => ({ ...known, list }));
  const kept = await keepConversation(conversation, list);
  if (kept.length < list.length) chats.set((known) => ({ ...known, list: kept }));
}

export type NewQuestion = { readonly text: string; readonly images: readonly string[] };

/** Gives the conversation's id at once; the answer comes by and by. */
export function beginChat(start: { model: string; settings: Settings }, question: NewQuestion): string {
  const conversation = newConversation(start.model, start.settings);
  void askIn({ ...conversation, title: titleOf(question.text) || "An image" }, question);
  return conversation.id;
}

export function goOn(id: string, question: NewQuestion): void {
  const conversation = find(id);
  if (conversation !== undefined) void askIn(conversation, question);
}

/** The question in other words; what followed it is replaced. */
export function askAnew(id: string, questionId: string, text: string): void {
  const conversation = find(id);
  const place = conversation?.turns.findIndex((turn) => turn.id === questionId) ?? -1;
  const old = conversation?.turns[place];
  if (conversation === undefined || old?.role !== "user") return;
  const title = place === 0 ? titleOf(text) : conversation.title;
  const turns = conversation.turns.slice(0, place);
  void askIn({ ...conversation, title, turns }, { text, images: old.images });
}

/** Another answer to the last question. */
export function regenerate(id: string): void {
  const conversation = find(id);
  if (conversation === undefined) return;
  const last = conversation.turns.findLastIndex(({ role }) => role === "user");
  void answerIn({ ...conversation, turns: conversation.turns.slice(0, last + 1) });
}

function askIn(conversation: Conversation, { text, images }: NewQuestion): Promise<void> {
  const question: Question = { id: crypto.randomUUID(), role: "user", text, images };
  return answerIn({ ...conversation, turns: [...conversation.turns, question] });
}

async function answerIn(conversation: Conversation): Promise<void> {
  if (liveAnswers.get().has(conversation.id)) return;
  const asked = { ...conversation, changedAt: Date.now() };
  const answering = readAnswer(asked);
  await put(asked);
  const turn = await answering;
  // Whoever was removed meanwhile stays away; a model chosen meanwhile stays chosen.
  const current = find(conversation.id);
  if (current !== undefined) await put({ ...current, changedAt: Date.now(), turns: [...asked.turns, turn] });
}

export function changeChat(id: string, change: Partial<Pick<Conversation, "model" | "settings">>): void {
  const conversation = find(id);
  if (conversation !== undefined) void put({ ...conversation, ...change });
}

export async function removeChat(id: string): Promise<void> {
  chats.set((known) => ({ ...known, list: known.list.filter((each) => each.id !== id) }));
  await dropConversation(id);
}

export async function removeAllChats(): Promise<void> {
  chats.set((known) => ({ ...known, list: [] }));
  await dropAllConversations();
}
