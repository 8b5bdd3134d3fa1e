import { readAnswer, stopAnswer } from "./answering.ts";
import {
  type Conversation,
  newConversation,
  newId,
  type Question,
  type Settings,
  titleOf,
} from "./conversation.ts";
import { dropDraft } from "./drafts.ts";
import {
  dropAllConversations,
  dropConversation,
  keepConversation,
  keepUnfinished,
  parted,
  readConversations,
} from "./kept-conversations.ts";
import { createStore } from "./store.ts";

export type Chats = { readonly isLoaded: boolean; readonly list: readonly Conversation[] };

/** The newest first. */
export const chats = createStore<Chats>({ isLoaded: false, list: [] });

export async function loadChats(): Promise<void> {
  const kept = await readConversations();
  chats.set(({ list }) => {
    const isNew = ({ id }: Conversation): boolean => list.every((begun) => begun.id !== id);
    return { isLoaded: true, list: [...list, ...kept.filter(isNew)] };
  });
}

function find(id: string): Conversation | undefined {
  return chats.get().list.find((conversation) => conversation.id === id);
}

/** Nobody waits for the browser to have written it. */
function put(conversation: Conversation): void {
  const others = chats.get().list.filter(({ id }) => id !== conversation.id);
  const { kept, surplus } = parted([conversation, ...others]);
  chats.set((known) => ({ ...known, list: kept }));
  void keepConversation(conversation);
  for (const { id } of surplus) void removeChat(id);
}

export type NewQuestion = { readonly text: string; readonly images: readonly string[] };

/** Gives the conversation's id at once; the answer comes by and by. */
export function beginChat(start: { model: string; settings: Settings }, question: NewQuestion): string {
  const conversation = newConversation(start.model, start.settings);
  void askIn({ ...conversation, title: titleOf(question.text) || "An image" }, question);
  return conversation.id;
}

export async function goOn(id: string, question: NewQuestion): Promise<void> {
  await endAnswer(id);
  const conversation = find(id);
  if (conversation !== undefined) await askIn(conversation, question);
}

/** The question in other words; what followed it is replaced, also while it is still being written. */
export async function askAnew(id: string, questionId: string, text: string): Promise<void> {
  await endAnswer(id);
  const conversation = find(id);
  const place = conversation?.turns.findIndex((turn) => turn.id === questionId) ?? -1;
  const old = conversation?.turns[place];
  if (conversation === undefined || old?.role !== "user") return;
  const title = place === 0 ? titleOf(text) : conversation.title;
  const turns = conversation.turns.slice(0, place);
  await askIn({ ...conversation, title, turns }, { text, images: old.images });
}

/** Another answer to the last question. */
export async function regenerate(id: string): Promise<void> {
  await endAnswer(id);
  const conversation = find(id);
  if (conversation === undefined) return;
  const last = conversation.turns.findLastIndex(({ role }) => role === "user");
  await answerIn({ ...conversation, turns: conversation.turns.slice(0, last + 1) });
}

function askIn(conversation: Conversation, { text, images }: NewQuestion): Promise<void> {
  const question: Question = { id: newId(), role: "user", text, images };
  return answerIn({ ...conversation, turns: [...conversation.turns, question] });
}

/** By conversation; each ends once its answer has its place there. */
const underWay = new Map<string, Promise<void>>();

/** What comes next takes the place of an answer that is still being written. */
async function endAnswer(id: string): Promise<void> {
  stopAnswer(id);
  await underWay.get(id);
}

async function answerIn(conversation: Conversation): Promise<void> {
  const { id } = conversation;
  if (underWay.has(id)) return;
  const answering = takeAnswer({ ...conversation, changedAt: Date.now() });
  underWay.set(id, answering);
  await answering.finally(() => underWay.delete(id));
}

async function takeAnswer(asked: Conversation): Promise<void> {
  const answering = readAnswer(asked, (unfinished) => {
    if (find(asked.id) !== undefined) void keepUnfinished(asked.id, unfinished);
  });
  put(asked);
  const turn = await answering;
  // Whoever was removed meanwhile stays away; a model chosen meanwhile stays chosen.
  const current = find(asked.id);
  if (current === undefined || turn === undefined) return;
  put({ ...current, changedAt: Date.now(), turns: [...asked.turns, turn] });
}

export function changeChat(id: string, change: Partial<Pick<Conversation, "model" | "settings">>): void {
  const conversation = find(id);
  if (conversation !== undefined) put({ ...conversation, ...change });
}

export async function removeChat(id: string): Promise<void> {
  chats.set((known) => ({ ...known, list: known.list.filter((each) => each.id !== id) }));
  stopAnswer(id);
  dropDraft(id);
  await dropConversation(id);
}

export async function removeAllChats(): Promise<void> {
  const { list } = chats.get();
  chats.set((known) => ({ ...known, list: [] }));
  for (const { id } of list) {
    stopAnswer(id);
    dropDraft(id);
  }
  await dropAllConversations();
}
