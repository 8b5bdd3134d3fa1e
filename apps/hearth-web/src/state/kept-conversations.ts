import type { Conversation } from "./conversation.ts";

/** The oldest go when there are more. */
const mostConversations = 200;
const shelf = "conversations";

let opened: Promise<IDBDatabase> | undefined;

/** In this browser's own database, for this origin alone; the server keeps none of it. */
function open(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("hearth", 1);
    request.addEventListener("upgradeneeded", () =>
      request.result.createObjectStore(shelf, { keyPath: "id" }),
    );
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("no database")));
  });
  return opened;
}

async function perform<Result>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const database = await open();
  return new Promise((resolve, reject) => {
    const request = work(database.transaction(shelf, mode).objectStore(shelf));
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("no answer")));
  });
}

/** The newest first; none where the browser keeps nothing, as in some private windows. */
export async function readConversations(): Promise<readonly Conversation[]> {
  // Only what was written by the function below is there.
  const all = (await perform("readonly", (store) => store.getAll()).catch(() => [])) as Conversation[];
  return all.toSorted((one, other) => other.changedAt - one.changedAt);
}

/** Gives what is to be kept, the newest first; the rest is dropped from the shelf. */
export async function keepConversation(
  conversation: Conversation,
  all: readonly Conversation[],
): Promise<readonly Conversation[]> {
  await perform("readwrite", (store) => store.put(conversation)).catch(() => undefined);
  const surplus = all.slice(mostConversations);
  for (const { id } of surplus) await dropConversation(id);
  return all.slice(0, mostConversations);
}

export async function dropConversation(id: string): Promise<void> {
  await perform("readwrite", (store) => store.delete(id)).catch(() => undefined);
}

export async function dropAllConversations(): Promise<void> {
  await perform("readwrite", (store) => store.clear()).catch(() => undefined);
}
