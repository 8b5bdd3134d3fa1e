import { expect, test } from "vitest";
import { ResponseStore, type StoreLimits } from "./response-store.ts";
import type { StoredRecord } from "./stored-record.ts";

const limits: StoreLimits = {
  maxResponses: 100,
  maxBytes: 1_000_000,
  maxTotalBytes: 10_000_000,
  idleSeconds: 60,
};

const record = (id: string, text = "x"): StoredRecord => ({
  id,
  head: "{}",
  input: [{ id: `in_${id}`, text }],
  output: [{ id: `out_${id}`, text }],
});

function storeWith(changes: Partial<StoreLimits>, now?: () => number): ResponseStore {
  return new ResponseStore({ ...limits, ...changes }, now === undefined ? {} : { now });
}

/** The size that the store counts for a record with this text. */
function sizeOf(text: string): number {
  const store = storeWith({});
  store.forKey("a").save(record("1", text));
  return store.bytes;
}

test("a record and its items are found by their own key only", () => {
  const store = storeWith({});
  store.forKey("a").save(record("1"));
  expect(store.forKey("a").find("1")).toEqual(record("1"));
  expect(store.forKey("a").findItem("out_1")).toEqual({ id: "out_1", text: "x" });
  expect(store.forKey("b").find("1")).toBeUndefined();
  expect(store.forKey("b").findItem("out_1")).toBeUndefined();
  expect(store.forKey("b").delete("1")).toBe(false);
});

test("above the maximum count the least recently used record is evicted with its items, not the oldest", () => {
  const records = storeWith({ maxResponses: 2 }).forKey("a");
  records.save(record("1"));
  records.save(record("2"));
  records.findItem("in_1");
  records.save(record("3"));
  expect(records.find("2")).toBeUndefined();
  expect(records.findItem("out_2")).toBeUndefined();
  expect(records.find("1")).toBeDefined();
  expect(records.find("3")).toBeDefined();
});

test("above the maximum size as many records as necessary are evicted, and their space is reused", () => {
  const store = storeWith({ maxBytes: 2 * sizeOf("12345") });
  const records = store.forKey("a");
  for (const id of ["1", "2", "3", "4"]) records.save(record(id, "12345"));
  expect(["1", "2", "3", "4"].filter((id) => records.find(id) !== undefined)).toEqual(["3", "4"]);
  expect(store.bytes).toBe(2 * sizeOf("12345"));
});

test("a record larger than the maximum is not stored and evicts nothing", () => {
  const records = storeWith({ maxBytes: sizeOf("12345") }).forKey("a");
  expect(records.save(record("1", "12345"))).toBe(true);
  expect(records.save(record("2", "123456"))).toBe(false);
  expect(records.find("2")).toBeUndefined();
  expect(records.find("1")).toBeDefined();
});

test("one key does not use up the space of another", () => {
  const store = storeWith({ maxResponses: 1 });
  store.forKey("a").save(record("1"));
  store.forKey("b").save(record("2"));
  expect(store.forKey("a").find("1")).toBeDefined();
});

test("many keys together stay within the total, and the largest one makes room", () => {
  const store = storeWith({ maxTotalBytes: 4 * sizeOf("x") });
  store.forKey("small").save(record("1"));
  for (const id of ["2", "3", "4", "5", "6"]) store.forKey("large").save(record(id));
  for (const key of ["k1", "k2"]) store.forKey(key).save(record("7"));
  expect(store.bytes).toBeLessThanOrEqual(4 * sizeOf("x"));
  expect(store.forKey("small").find("1")).toBeDefined();
  expect(["2", "3", "4", "5", "6"].filter((id) => store.forKey("large").find(id))).toEqual(["6"]);
});

test("a record that was not used for the idle time is deleted, of every key", () => {
  let seconds = 0;
  const store = storeWith({ idleSeconds: 10 }, () => seconds * 1000);
  store.forKey("a").save(record("1"));
  store.forKey("a").save(record("2"));
  seconds = 9;
  store.forKey("a").find("2");
  seconds = 11;
  expect(store.forKey("a").find("1")).toBeUndefined();
  expect(store.forKey("a").find("2")).toBeDefined();
  seconds = 30;
  store.forKey("b").save(record("3"));
  expect(store.bytes).toBe(sizeOf("x"));
});

test("text outside Latin-1 counts with two bytes per character", () => {
  expect(sizeOf("日".repeat(100)) - sizeOf("x".repeat(100))).toBe(200);
});

test("deleting a record keeps an item that a later record contains too", () => {
  const store = storeWith({});
  const records = store.forKey("a");
  records.save(record("1"));
  records.save({ ...record("2"), input: [{ id: "out_1", text: "y" }] });
  expect(records.delete("1")).toBe(true);
  expect(records.findItem("out_1")).toEqual({ id: "out_1", text: "y" });
  expect(records.findItem("in_1")).toBeUndefined();
  records.delete("2");
  expect(store.bytes).toBe(0);
});
