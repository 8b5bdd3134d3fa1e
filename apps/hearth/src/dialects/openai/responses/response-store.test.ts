import { expect, test } from "vitest";
import { ResponseStore } from "./response-store.ts";

const item = (content: string) => ({ type: "message", role: "user", content });
const bytesOf = (content: string): number => JSON.stringify([item(content)]).length;

test("what is kept is found by its own key only", () => {
  const store = new ResponseStore({ mostResponses: 2, mostBytes: 1000 });
  store.keep("a", "1", [item("one")]);
  expect(store.find("a", "1")).toEqual([item("one")]);
  expect(store.find("b", "1")).toBeUndefined();
});

test("over the count the one used longest ago leaves, not the one kept longest ago", () => {
  const store = new ResponseStore({ mostResponses: 2, mostBytes: 1000 });
  store.keep("a", "1", [item("one")]);
  store.keep("a", "2", [item("two")]);
  store.find("a", "1");
  store.keep("a", "3", [item("three")]);
  expect(store.find("a", "2")).toBeUndefined();
  expect(store.find("a", "1")).toBeDefined();
  expect(store.find("a", "3")).toBeDefined();
});

test("over the bytes as many leave as make room, and room that was given back can be used again", () => {
  const store = new ResponseStore({ mostResponses: 100, mostBytes: 2 * bytesOf("12345") });
  for (const id of ["1", "2", "3", "4"]) store.keep("a", id, [item("12345")]);
  const left = ["1", "2", "3", "4"].filter((id) => store.find("a", id) !== undefined);
  expect(left).toEqual(["3", "4"]);
});

test("a response larger than all the room is not kept and drives nothing out", () => {
  const store = new ResponseStore({ mostResponses: 2, mostBytes: bytesOf("12345") });
  store.keep("a", "1", [item("12345")]);
  store.keep("a", "2", [item("123456")]);
  expect(store.find("a", "2")).toBeUndefined();
  expect(store.find("a", "1")).toBeDefined();
});

test("the room of one key is not taken by another", () => {
  const store = new ResponseStore({ mostResponses: 1, mostBytes: 1000 });
  store.keep("a", "1", [item("one")]);
  store.keep("b", "2", [item("two")]);
  expect(store.find("a", "1")).toBeDefined();
});
