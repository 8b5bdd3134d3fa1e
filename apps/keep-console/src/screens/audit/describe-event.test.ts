import { expect, test } from "vitest";
import { mergePages } from "./audit-log.ts";
import type { AuditRecord } from "./audit-record.ts";
import { describeEvent, type EntityNames } from "./describe-event.ts";

const names: EntityNames = {
  actor: (actor) => actor,
  token: (id) => (id === "known" ? "deploy" : undefined),
  vault: () => undefined,
  provider: (kind) => kind,
};

function record(body: unknown, seq = 1): AuditRecord {
  const hash = "0".repeat(64);
  return {
    seq,
    at: "2026-01-31T08:15:00.000000Z",
    previous: hash,
    body_hash: hash,
    hash,
    body,
    subject_id: null,
    revision: null,
  };
}

test.each([
  [{ type: "value-read", by: "token:a", path: "/prod/KEY", version: 3 }, "read version 3 of /prod/KEY"],
  [{ type: "values-read", by: "token:a", path: "/", secrets: ["a", "b"] }, "read 2 values in the vault"],
  [
    { type: "token-revoked", by: "server", token: "known", reason: "leaked" },
    "revoked the token “deploy” (reported as leaked)",
  ],
  [{ type: "token-revoked", by: "server", token: "other", reason: "asked" }, "revoked a token"],
  [
    { type: "denied", by: "token:a", route: "GET /api/secrets/audit", reason: "insufficient-scope" },
    "had a request denied: GET /api/secrets/audit (missing scope)",
  ],
  [{ type: "moon-landed", by: "server" }, "unknown event: moon-landed"],
  [null, "The content of this record was erased; its position in the log is kept"],
  ["no record", "This record cannot be read; verify the log"],
])("%j is described as %j", (body, action) => {
  expect(describeEvent(record(body), names).action).toBe(action);
});

function page(seqs: readonly number[], next?: number) {
  return {
    items: seqs.map((seq) => record({}, seq)),
    ...(next === undefined ? {} : { next_before: next }),
  };
}

test("pages of several types merge without gaps or duplicates", () => {
  const { items, nextBefore } = mergePages([page([90, 80, 70], 70), page([95, 20]), page([85, 75, 72], 72)]);
  expect(items.map(({ seq }) => seq)).toEqual([95, 90, 85, 80, 75, 72]);
  expect(nextBefore).toBe(72);
  expect(mergePages([page([2, 1]), page([])]).nextBefore).toBeUndefined();
});
