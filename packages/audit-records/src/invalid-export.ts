import type { ExportedRecord } from "./stream-line.ts";

/** Ends the verification; the message is the reason that people read. */
export class InvalidExport extends Error {
  override readonly name = "InvalidExport";
  readonly record: string | undefined;

  constructor(reason: string, record?: string) {
    super(reason);
    this.record = record;
  }
}

export function invalidRecord({ log, number }: ExportedRecord, reason: string): InvalidExport {
  return new InvalidExport(reason, `${log}/${number}`);
}
