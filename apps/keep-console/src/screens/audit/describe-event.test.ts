import type { AuditPage } from "@hearth-and-keep/vault-contract";
import { expect, test } from "vitest";
import { mergePages } from "./audit-log.ts";
import { type AuditRecord, recordName } from "./audit-record.ts";
import { describeEvent, type EntityNames } from "./describe-event.ts";

const names: EntityNames = {
  actor: (actor) => actor,
  person: (id) => (id === "known" ? "Ada" : undefined),
  team: (id) => (id === "known" ? "Backend" : undefined),
  token: (id) => (id === "known" ? "deploy" : undefined),
  vault: () => undefined,
  provider: (kind) => kind,
};

function record(body: unknown, { log = 1, number = 1 } = {}): AuditRecord {
  return { log, number, at: "2026-01-31T08:15:00.000000Z", body, subject_id: null, revision: null };
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
  [
    { type: "chain-carried-over", seq: 1234, hash: "0".repeat(64) },
    "carried over the earlier audit log with 1,234 records",
  ],
  [
    { type: "grant-added", by: "person:a", holder: "team:b", role: "editor", paths: ["/dev/**"] },
    "made team b editor of /dev/**",
  ],
  [
    { type: "grant-removed", by: "person:a", holder: "person:b", role: "reader" },
    "removed person b as reader of the vault",
  ],
  [
    { type: "grant-added", holder: "team:known", role: "reader" },
    "made the team “Backend” reader of the vault",
  ],
  [{ type: "grant-added", holder: "person:known", role: "reader" }, "made Ada reader of the vault"],
  [{ type: "team-member-added", team: "known", person: "known" }, "added Ada to the team “Backend”"],
  [
    { type: "team-member-removed", by: "server", team: "known", person: "known", group: "engineering" },
    "removed Ada from the team “Backend” by the group “engineering”",
  ],
  [
    { type: "team-group-changed", team: "known", group: "engineering", removed: 0 },
    "set the team “Backend” to be filled by the group “engineering”",
  ],
  [
    { type: "team-group-changed", team: "known", removed: 2 },
    "stopped filling the team “Backend” from a group, which removed 2 members",
  ],
  [
    { type: "team-groups-skipped", by: "server", person: "known", reason: "too-many-groups" },
    "did not update the teams of Ada (the provider did not list the groups, because there are too many)",
  ],
  [{ type: "command-line-approved", machine: "laptop" }, "allowed access from the command line of laptop"],
  [{ type: "command-line-denied", machine: "laptop" }, "denied access to the command line of laptop"],
  [{ type: "member-removed", person: "other" }, "removed the member other"],
  [{ type: "moon-landed", by: "server" }, "unknown event: moon-landed"],
  [null, "The content of this record was erased; its position in the log is kept"],
  ["no record", "This record cannot be read; verify the log"],
])("%j is described as %j", (body, action) => {
  expect(describeEvent(record(body), names).action).toBe(action);
});

test("an event without an actor was recorded by the server", () => {
  expect(describeEvent(record({ type: "chain-carried-over", seq: 1 }), names).actor).toBe("server");
  expect(describeEvent(record({ type: "signed-in", by: "session:a" }), names).actor).toBe("session:a");
});

function page(numbers: readonly number[], next?: number) {
  return {
    items: numbers.map((number) => record({}, { number })),
    ...(next === undefined ? {} : { next_before: next }),
  };
}

test("pages of several types merge without gaps or duplicates", () => {
  const { items, nextBefore } = mergePages([page([90, 80, 70], 70), page([95, 20]), page([85, 75, 72], 72)]);
  expect(items.map(({ number }) => number)).toEqual([95, 90, 85, 80, 75, 72]);
  expect(nextBefore).toBe(72);
  expect(mergePages([page([2, 1]), page([])]).nextBefore).toBeUndefined();
});

function logsOf(pages: readonly AuditPage[]): readonly number[] {
  return mergePages(pages).items.map(({ log }) => log);
}

test("records of several logs with one number are all kept, in one order whichever page has them", () => {
  const one = { items: [record({}, { log: 1, number: 80 })], next_before: 80 };
  const other = { items: [record({}, { log: 2, number: 80 })], next_before: 80 };
  expect(logsOf([one, other])).toEqual([2, 1]);
  expect(logsOf([other, one])).toEqual([2, 1]);
});

test("events of the earlier log come last and are named by their position", () => {
  const { items } = mergePages([
    { items: [record({}, { log: 0, number: 1234 })] },
    { items: [record({}, { log: 3, number: 1_769_847_300_000_000 })] },
  ]);
  expect(items.map(recordName)).toEqual(["3/1769847300000000", "#1,234"]);
});
