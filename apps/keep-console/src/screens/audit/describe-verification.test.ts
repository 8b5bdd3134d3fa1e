import type { AuditVerification } from "@hearth-and-keep/audit-records";
import { expect, test } from "vitest";
import { describeVerification } from "./describe-verification.ts";

type Valid = Extract<AuditVerification, { readonly isValid: true }>;

const stream = "0198a6f2-0000-7000-8000-000000000001";
const log = (origin: string) => ({ origin, size: 40, records: 20 });

function describeValid(result: Partial<Valid>): string {
  const { title, text } = describeVerification({
    isValid: true,
    stream,
    records: 0,
    carriedOver: 0,
    erased: 0,
    since: undefined,
    logs: [],
    trustedCheckpoints: 0,
    ...result,
  });
  return `${title}: ${text}`;
}

const since = "2026-01-31T12:00:00.000000Z";

test.each([
  [{}, "Log verified: it has no records yet."],
  [
    { records: 1, since, logs: [log("keep.example.com/audit/1")] },
    "Log verified: 1 record since January 31, 2026, no changes detected. Recorded in the log of 1 node, with 1 signed checkpoint.",
  ],
  [
    {
      records: 1200,
      carriedOver: 29,
      erased: 3,
      since,
      logs: [log("keep.example.com/audit/1"), log("keep.example.com/audit/2")],
    },
    "Log verified: 1,229 records since January 31, 2026, no changes detected. 29 of them are from the earlier log. Recorded in the logs of 2 nodes, with 2 signed checkpoints. The content of 3 records was erased: that they were recorded is verified, what they said is not.",
  ],
  [
    { records: 7, since, logs: [{ ...log("keep.example.com/audit/1"), archivedBefore: 12 }] },
    "Log verified: 7 records since January 31, 2026, no changes detected. Recorded in the log of 1 node, with 1 signed checkpoint. Older records are archived and not part of this log any more.",
  ],
  [
    { logs: [{ ...log("keep.example.com/audit/1"), archivedBefore: 12 }] },
    "Log verified: all of its records are archived.",
  ],
  [
    { carriedOver: 29, erased: 1, since },
    "Log verified: 29 records since January 31, 2026, no changes detected. All of them are from the earlier log. The content of 1 record was erased: that it was recorded is verified, what it said is not.",
  ],
])("the valid result %j is described as %j", (result, text) => {
  expect(describeValid(result)).toBe(text);
});

function describeInvalid(record: string | undefined): string {
  const reason = "content does not match what was recorded";
  const { title, text } = describeVerification({ isValid: false, stream, record, line: 3, reason });
  expect(text).toMatch(/^content does not match what was recorded\. The log was modified/u);
  return title;
}

test("a record that failed is named by its time, or by its position in the earlier log", () => {
  expect(describeInvalid("2/1769860800000001")).toMatch(
    /^The record of January 31, 2026 at \d+:\d\d:00\s[AP]M \(2\/1769860800000001\) failed verification$/u,
  );
  expect(describeInvalid("1234")).toBe("Record #1,234 of the earlier log failed verification");
  expect(describeInvalid(undefined)).toBe("The log failed verification");
});
