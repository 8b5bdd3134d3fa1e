import { expect, test } from "vitest";
import { MemoryLedger } from "./memory-ledger.ts";

test("memory is bounded per key and in total, and free again when it is released", () => {
  const ledger = new MemoryLedger({ maxBytes: 100, maxTotalBytes: 150 });
  const first = ledger.reserve("first", 80);
  expect(() => ledger.reserve("first", 30)).toThrow("batch-storage-full");
  const second = ledger.reserve("second", 70);
  expect(() => ledger.reserve("third", 1)).toThrow("batch-storage-full");
  expect(ledger.bytes).toBe(150);
  first.release();
  first.release();
  const third = ledger.reserve("third", 80);
  for (const reservation of [second, third]) reservation.release();
  expect(ledger.bytes).toBe(0);
});

test("a reservation grows while there is memory, and can always shrink", () => {
  const ledger = new MemoryLedger({ maxBytes: 100, maxTotalBytes: 100 });
  const reservation = ledger.reserve("first", 40);
  expect([reservation.resize(100), reservation.resize(101), ledger.bytes]).toEqual([true, false, 100]);
  expect([reservation.resize(10), ledger.bytes]).toEqual([true, 10]);
});

test("the reason says whether the key or the others use the memory", () => {
  const ledger = new MemoryLedger({ maxBytes: 100, maxTotalBytes: 150 });
  ledger.reserve("first", 100);
  const reasonFor = (keyName: string): string => {
    try {
      ledger.reserve(keyName, 60);
      return "";
    } catch (error) {
      return Object(error).failure.reason;
    }
  };
  expect(reasonFor("first")).toContain("this API key may store 100 bytes, uses 100 and needs 60 more");
  expect(reasonFor("second")).toContain("other API keys use the memory");
});
