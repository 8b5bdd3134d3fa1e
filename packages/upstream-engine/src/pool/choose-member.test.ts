import { expect, test } from "vitest";
import { type Candidate, chooseMember } from "./choose-member.ts";

function member(label: string, changes: Partial<Candidate> = {}): Candidate {
  const usual = { outstanding: 0, limit: 8, expectedSeconds: 0.1, pendingSeconds: 0 };
  return { label, ...usual, isSuspected: false, usedAt: 0, ...changes };
}

const chosen = (candidates: readonly Candidate[], preferred?: string): string | undefined =>
  chooseMember(candidates, preferred)?.label;

test("the member that has read the beginning is asked, also when it has a little more to do", () => {
  expect(chosen([member("a"), member("b", { outstanding: 2 })], "b")).toBe("b");
  expect(chosen([member("a", { limit: 32 }), member("b", { limit: 32, outstanding: 8 })], "b")).toBe("b");
});

test.each([
  ["has much more to do", { outstanding: 3 }],
  ["is suspected", { isSuspected: true }],
  ["is slow", { expectedSeconds: 3 }],
  ["has not answered for long", { outstanding: 1, pendingSeconds: 3 }],
  ["has no place", { outstanding: 2, limit: 2 }],
])("it is not asked when it %s", (_why, changes) => {
  expect(chosen([member("a"), member("c"), member("b", changes)], "b")).not.toBe("b");
});

test("otherwise the one is asked that can be expected to answer first, and of equals the one that rested longest", () => {
  expect(chosen([member("a", { outstanding: 4 }), member("b", { expectedSeconds: 1 })])).toBe("a");
  expect(chosen([member("a", { outstanding: 45 }), member("b", { expectedSeconds: 1 })])).toBe("b");
  const hanging = member("a", { outstanding: 6, pendingSeconds: 0.4 });
  expect(chosen([hanging, member("b", { outstanding: 1, expectedSeconds: 1 })])).toBe("a");
  expect(chosen([hanging, member("b", { outstanding: 3 })])).toBe("b");
  expect(chosen([member("a", { usedAt: 2 }), member("b", { usedAt: 1 })])).toBe("b");
  expect(chosen([member("a", { isSuspected: true }), member("b", { outstanding: 2 })])).toBe("b");
});
