import { expect, test } from "vitest";
import { type Candidate, chooseMember } from "./choose-member.ts";

function member(label: string, changes: Partial<Candidate> = {}): Candidate {
  const defaults = { outstanding: 0, limit: 8, expectedSeconds: 0.1, pendingSeconds: 0 };
  return { label, ...defaults, isSuspected: false, usedAt: 0, ...changes };
}

const chosen = (candidates: readonly Candidate[], preferred?: string): string | undefined =>
  chooseMember(candidates, preferred)?.label;

test("the member with the cached prefix is chosen even if it is slightly busier", () => {
  expect(chosen([member("a"), member("b", { outstanding: 2 })], "b")).toBe("b");
  expect(chosen([member("a", { limit: 32 }), member("b", { limit: 32, outstanding: 8 })], "b")).toBe("b");
});

test.each([
  ["is much busier", { outstanding: 3 }],
  ["is suspected", { isSuspected: true }],
  ["is slow", { expectedSeconds: 3 }],
  ["has not responded for long", { outstanding: 1, pendingSeconds: 3 }],
  ["has no free slot", { outstanding: 2, limit: 2 }],
])("it is not chosen if it %s", (_why, changes) => {
  expect(chosen([member("a"), member("c"), member("b", changes)], "b")).not.toBe("b");
});

test("otherwise the member expected to respond first is chosen, and among equals the least recently used", () => {
  expect(chosen([member("a", { outstanding: 4 }), member("b", { expectedSeconds: 1 })])).toBe("a");
  expect(chosen([member("a", { outstanding: 45 }), member("b", { expectedSeconds: 1 })])).toBe("b");
  const stalled = member("a", { outstanding: 6, pendingSeconds: 0.4 });
  expect(chosen([stalled, member("b", { outstanding: 1, expectedSeconds: 1 })])).toBe("a");
  expect(chosen([stalled, member("b", { outstanding: 3 })])).toBe("b");
  expect(chosen([member("a", { usedAt: 2 }), member("b", { usedAt: 1 })])).toBe("b");
  expect(chosen([member("a", { isSuspected: true }), member("b", { outstanding: 2 })])).toBe("b");
});
