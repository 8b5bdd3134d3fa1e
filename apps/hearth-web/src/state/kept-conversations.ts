import type { AnswerTurn, Conversation } from "./conversation.ts";

/** The oldest go when there are more. */
const mostConversations = 200;

/** Apart, so that an answer that grows is kept without writing its whole conversation, images and all, each time. */
type Shelf = "conversations" | "unfinished";
type Unfinished = { readonly id: string; readonly turn: AnswerTurn };

let opened: Promise<IDBDatabase> | undefined;

/** In this browser's own database, for this origin alone; the server keeps none of it. */
function open(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("hearth", 2);
    request.addEventListener("upgradeneeded", () => {
      const { objectStoreNames: there } = request.result;
      for (const shelf of ["conversations", "unfinished"] satisfies Shelf[]) {
        if (!there.contains(shelf)) request.result.createObjectStore(shelf, { keyPath: "id" });
      }
    });
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("no database")));
    // Another window has an older form of it open; this one does without rather than wait for that to be closed.
    request.addEventListener("blocked", () => reject(new Error("no database")));
  });
  return opened;
}

async function perform<Result>(
  shelf: Shelf,
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const database = await open();
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(shelf, mode);
    const request = work(transaction.objectStore(shelf));
    // One request is all there is. Said so at once, it is written even when the page goes away now.
    transaction.commit();
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("no answer")));
  });
}

/** The newest first; none where the browser keeps nothing, as in some private windows. */
export async function readConversations(): Promise<readonly Conversation[]> {
  // Only what was written by the functions below is there.
  const all = (await readShelf("conversations")) as readonly Conversation[];
  // As above.
  const unfinished = (await readShelf("unfinished")) as readonly Unfinished[];
  const turns = new Map(unfinished.map(({ id, turn }) => [id, turn]));
  return all
    .map((conversation) => withUnfinished(conversation, turns.get(conversation.id)))
    .toSorted((one, other) => other.changedAt - one.changedAt);
}

function readShelf(shelf: Shelf): Promise<unknown[]> {
  return perform<unknown[]>(shelf, "readonly", (store) => store.getAll()).catch(() => []);
}

function withUnfinished(conversation: Conversation, turn: AnswerTurn | undefined): Conversation {
  if (turn === undefined || conversation.turns.at(-1)?.role !== "user") return conversation;
  return { ...conversation, turns: [...conversation.turns, turn] };
}

/** Of a list with the newest first, what there is room for and what there is not. */
export function parted(all: readonly Conversation[]): {
  readonly kept: readonly Conversation[];
  readonly surplus: readonly Conversation[];
} {
  return { kept: all.slice(0, mostConversations), surplus: all.slice(mostConversations) };
}

export async function keepConversation(conversation: Conversation): Promise<void> {
  // Both are in the queue before any piece that comes now is kept.
  await Promise.all([
    perform("conversations", "readwrite", (store) => store.put(conversation)).catch(() => undefined),
    perform("unfinished", "readwrite", (store) => store.delete(conversation.id)).catch(() => undefined),
  ]);
}

/** What came of an answer so far, for a page that goes away before its end. */
export async function keepUnfinished(id: string, turn: AnswerTurn): Promise<void> {
  const unfinished: Unfinished = { id, turn };
  await perform("unfinished", "readwrite", (store) => store.put(unfinished)).catch(() => undefined);
}

export async function dropConversation(id: string): Promise<void> {
  await perform("conversations", "readwrite", (store) => store.delete(id)).catch(() => undefined);
  await perform("unfinished", "readwrite", (store) => store.delete(id)).catch(() => undefined);
}

export async function dropAllConversations(): Promise<void> {
  await perform("conversations", "readwrite", (store) => store.clear()).catch(() => undefined);
  await perform("unfinished", "readwrite", (store) => store.clear()).catch(() => undefined);
}
