import { expect, test } from "vitest";
import { KeyedStore, type Stored } from "./keyed-store.ts";

function createStore({ maxItems = 2 } = {}) {
  let now = 0;
  const released: string[] = [];
  const store = new KeyedStore<Stored>({ maxItems, plural: "files", now: () => now });
  const add = (keyName: string, id: string, deletedAt = Number.POSITIVE_INFINITY): void =>
    store.add(keyName, { id, deletedAt, release: () => void released.push(id) });
  return { store, add, released, advance: (milliseconds: number) => void (now += milliseconds) };
}

test("each key finds, lists and deletes only what it has added", () => {
  const { store, add, released } = createStore();
  add("first", "a");
  add("first", "b");
  add("second", "c");
  expect(store.list("first").map(({ id }) => id)).toEqual(["b", "a"]);
  expect([store.find("second", "a"), store.find("second", "c")?.id]).toEqual([undefined, "c"]);
  store.delete("second", "a");
  store.delete("first", "a");
  expect([released, store.list("first").length, store.list("third")]).toEqual([["a"], 1, []]);
});

test("items are deleted and their memory is freed when their time is over, also of keys that send no requests", () => {
  const { store, add, released, advance } = createStore();
  add("first", "a", 100);
  add("second", "b", 200);
  advance(100);
  store.deleteExpired();
  expect([released, store.find("second", "b")?.id]).toEqual([["a"], "b"]);
});

test("a key without room is rejected, and has room again when an item is deleted or has expired", () => {
  const { store, add, advance } = createStore();
  add("first", "a");
  add("first", "b", 100);
  expect(() => store.checkRoom("first")).toThrow("batch-storage-full");
  store.checkRoom("second");
  advance(100);
  store.checkRoom("first");
});

test("room is made by deleting the oldest item that is not in use", () => {
  const { store, add, released } = createStore({ maxItems: 3 });
  add("first", "running");
  add("first", "old", 1000);
  add("first", "new", 2000);
  store.makeRoom("first");
  expect(released).toEqual(["old"]);
  add("first", "running too");
  store.makeRoom("first");
  expect(released).toEqual(["old", "new"]);
  add("first", "running as well");
  expect(() => store.makeRoom("first")).toThrow("batch-storage-full");
});
