import type { AuditVerification } from "@hearth-and-keep/audit-records";
import { formatDate, formatDateAndTime } from "../../design/timestamp.tsx";
import { recordName } from "./audit-record.ts";

/** A heading, and the sentences that follow it. */
export type VerificationDescription = { readonly title: string; readonly text: string };

export function describeVerification(verification: AuditVerification): VerificationDescription {
  return verification.isValid ? describeValid(verification) : describeInvalid(verification);
}

type Valid = Extract<AuditVerification, { readonly isValid: true }>;
type Invalid = Extract<AuditVerification, { readonly isValid: false }>;

function describeValid({ records, carriedOver, since, logs, erased }: Valid): VerificationDescription {
  const total = records + carriedOver;
  const isArchived = logs.some(({ archivedBefore }) => archivedBefore !== undefined);
  if (total === 0)
    return {
      title: "Log verified",
      text: isArchived ? "all of its records are archived." : "it has no records yet.",
    };
  const start = since === undefined ? "" : ` since ${formatDate(new Date(since))}`;
  const sentences = [
    `${countOf(total, "record")}${start}, no changes detected.`,
    describeEarlier(carriedOver, total),
    describeLogs(logs.length),
    isArchived ? "Older records are archived and not part of this log any more." : "",
    describeErased(erased),
  ];
  return { title: "Log verified", text: sentences.filter((sentence) => sentence !== "").join(" ") };
}

function describeEarlier(carriedOver: number, total: number): string {
  if (carriedOver === 0) return "";
  const share = carriedOver === total ? "All" : carriedOver.toLocaleString("en");
  return `${share} of them ${carriedOver === 1 ? "is" : "are"} from the earlier log.`;
}

/** Each log has one checkpoint in an export, and verification requires its signature. */
function describeLogs(logs: number): string {
  if (logs === 0) return "";
  const nodes = logs === 1 ? "the log of 1 node" : `the logs of ${logs.toLocaleString("en")} nodes`;
  return `Recorded in ${nodes}, with ${countOf(logs, "signed checkpoint")}.`;
}

function describeErased(erased: number): string {
  if (erased === 0) return "";
  if (erased === 1)
    return "The content of 1 record was erased: that it was recorded is verified, what it said is not.";
  return `The content of ${countOf(erased, "record")} was erased: that they were recorded is verified, what they said is not.`;
}

function countOf(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count.toLocaleString("en")} ${noun}s`;
}

function describeInvalid({ record, reason }: Invalid): VerificationDescription {
  return {
    title: `${record === undefined ? "The log" : describeRecord(record)} failed verification`,
    text: `${reason}. The log was modified after it was written, or the database was restored to an earlier state. Export the log now and contact the operator of this Keep.`,
  };
}

/** The number of a record is its time; the number of a record in the earlier log is its position. */
function describeRecord(record: string): string {
  const { log, number } = /^(?<log>\d+)\/(?<number>\d+)$/u.exec(record)?.groups ?? {};
  if (log === undefined) return `Record ${recordName({ log: 0, number: Number(record) })} of the earlier log`;
  return `The record of ${formatDateAndTime(new Date(Number(number) / 1000))} (${record})`;
}
