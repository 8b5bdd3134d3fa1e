import { nodeSha256 } from "@hearth-and-keep/transparency-log/testing";
import { expect } from "vitest";
import type { AuditVerification, TrustedAuditMaterial } from "../verification.ts";
import { verifyAuditExport } from "../verify-export.ts";
import { type Alter, lineOf, writeLines } from "./alter-lines.ts";
import type { Line } from "./make-export.ts";

export type Alteration = {
  readonly name: string;
  readonly alter: Alter;
  readonly reason: string;
  /** Number of the reported record in the unaltered export, or how the altered file names it. */
  readonly record?: number | RegExp;
  readonly trust?: TrustedAuditMaterial;
};

export function verifyAltered(
  lines: readonly Line[],
  { name, alter, trust }: Alteration,
): Promise<AuditVerification> {
  const altered = writeLines(alter(lines));
  if (altered.join("\n") === writeLines(lines).join("\n")) throw new RangeError(`No alteration: ${name}`);
  return verifyAuditExport(altered, trust, nodeSha256);
}

/** What verification reports about the altered export. */
export function rejectionOf(lines: readonly Line[], { reason, record }: Alteration): object {
  return {
    isValid: false,
    record: record instanceof RegExp ? expect.stringMatching(record) : reportedName(lines, record),
    reason: expect.stringContaining(reason),
  };
}

function reportedName(lines: readonly Line[], record: number | undefined): string | undefined {
  return record === undefined ? undefined : nameOf(lineOf(lines, "record", record));
}

export function nameOf(record: Line): string {
  return `${JSON.stringify(record["log"])}/${JSON.stringify(record["number"])}`;
}
