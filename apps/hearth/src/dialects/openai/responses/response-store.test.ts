import { expect, test } from "vitest";
import { ResponseStore } from "./response-store.ts";

const item = (content: string) => ({ type: "message", role: "user", content });
const bytesOf = (content: string): number => JSON.stringify([item(content)]).length;

test("a response is found by its own key only", () => {
  const store = new ResponseStore({ maxResponses: 2, maxBytes: 1000 });
  store.save("a", "1", [item("one")]);
  expect(store.find("a", "1")).toEqual([item("one")]);
  expect(store.find("b", "1")).toBeUndefined();
});

test("above the maximum count the least recently used response is evicted, not the oldest", () => {
  const store = new ResponseStore({ maxResponses: 2, maxBytes: 1000 });
  store.save("a", "1", [item("one")]);
  store.save("a", "2", [item("two")]);
  store.find("a", "1");
  store.save("a", "3", [item("three")]);
  expect(store.find("a", "2")).toBeUndefined();
  expect(store.find("a", "1")).toBeDefined();
  expect(store.find("a", "3")).toBeDefined();
});

test("above the maximum size as many responses as necessary are evicted, and their space is reused", () => {
  const store = new ResponseStore({ maxResponses: 100, maxBytes: 2 * bytesOf("12345") });
  for (const id of ["1", "2", "3", "4"]) store.save("a", id, [item("12345")]);
  const left = ["1", "2", "3", "4"].filter((id) => store.find("a", id) !== undefined);
  expect(left).toEqual(["3", "4"]);
});

test("a response larger than the maximum is not stored and evicts nothing", () => {
  const store = new ResponseStore({ maxResponses: 2, maxBytes: bytesOf("12345") });
  store.save("a", "1", [item("12345")]);
  store.save("a", "2", [item("123456")]);
  expect(store.find("a", "2")).toBeUndefined();
  expect(store.find("a", "1")).toBeDefined();
});

test("one key does not use up the space of another", () => {
  const store = new ResponseStore({ maxResponses: 1, maxBytes: 1000 });
  store.save("a", "1", [item("one")]);
  store.save("b", "2", [item("two")]);
  expect(store.find("a", "1")).toBeDefined();
});
