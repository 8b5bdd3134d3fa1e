import type { Conversation, ResponseTurn } from "./conversation.ts";

/** Beyond this number, the oldest conversations are deleted. */
const maxConversations = 200;

/** Partial responses have their own store, so that saving one does not rewrite the conversation with its images. */
type ObjectStoreName = "conversations" | "unfinished";
type PartialResponse = { readonly id: string; readonly turn: ResponseTurn };

let database: Promise<IDBDatabase> | undefined;

/** IndexedDB of this origin; the server stores no conversations. */
function openDatabase(): Promise<IDBDatabase> {
  database ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("hearth", 2);
    request.addEventListener("upgradeneeded", () => {
      const { objectStoreNames: existing } = request.result;
      for (const name of ["conversations", "unfinished"] satisfies ObjectStoreName[]) {
        if (!existing.contains(name)) request.result.createObjectStore(name, { keyPath: "id" });
      }
    });
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("Cannot open the database")));
    // Another tab has an older version open. This tab runs without the database instead of waiting for the other.
    request.addEventListener("blocked", () => reject(new Error("Cannot upgrade the database")));
  });
  return database;
}

async function execute<Result>(
  name: ObjectStoreName,
  mode: IDBTransactionMode,
  operation: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const opened = await openDatabase();
  return new Promise((resolve, reject) => {
    const transaction = opened.transaction(name, mode);
    const request = operation(transaction.objectStore(name));
    // An explicit commit is written even when the page is closed right now.
    transaction.commit();
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () =>
      reject(request.error ?? new Error("The database request failed")),
    );
  });
}

/** Newest first; empty where the browser has no database, e.g. in some private windows. */
export async function loadConversations(): Promise<readonly Conversation[]> {
  // Both stores contain only what the functions below wrote.
  const all = (await readAll("conversations")) as readonly Conversation[];
  // As above.
  const partial = (await readAll("unfinished")) as readonly PartialResponse[];
  const turns = new Map(partial.map(({ id, turn }) => [id, turn]));
  return all
    .map((conversation) => withPartialResponse(conversation, turns.get(conversation.id)))
    .toSorted((one, other) => other.changedAt - one.changedAt);
}

function readAll(name: ObjectStoreName): Promise<unknown[]> {
  return execute<unknown[]>(name, "readonly", (store) => store.getAll()).catch(() => []);
}

function withPartialResponse(conversation: Conversation, turn: ResponseTurn | undefined): Conversation {
  if (turn === undefined || conversation.turns.at(-1)?.role !== "user") return conversation;
  return { ...conversation, turns: [...conversation.turns, turn] };
}

/** Splits a list, newest first, into what fits the limit and what has to be deleted. */
export function splitByLimit(all: readonly Conversation[]): {
  readonly kept: readonly Conversation[];
  readonly surplus: readonly Conversation[];
} {
  return { kept: all.slice(0, maxConversations), surplus: all.slice(maxConversations) };
}

export async function saveConversation(conversation: Conversation): Promise<void> {
  // Both are queued before any partial response that is saved later.
  await Promise.all([
    execute("conversations", "readwrite", (store) => store.put(conversation)).catch(() => undefined),
    execute("unfinished", "readwrite", (store) => store.delete(conversation.id)).catch(() => undefined),
  ]);
}

/** Survives a page that is closed before the response is complete. */
export async function savePartialResponse(id: string, turn: ResponseTurn): Promise<void> {
  const partial: PartialResponse = { id, turn };
  await execute("unfinished", "readwrite", (store) => store.put(partial)).catch(() => undefined);
}

export async function deleteConversation(id: string): Promise<void> {
  await execute("conversations", "readwrite", (store) => store.delete(id)).catch(() => undefined);
  await execute("unfinished", "readwrite", (store) => store.delete(id)).catch(() => undefined);
}

export async function deleteAllConversations(): Promise<void> {
  await execute("conversations", "readwrite", (store) => store.clear()).catch(() => undefined);
  await execute("unfinished", "readwrite", (store) => store.clear()).catch(() => undefined);
}
