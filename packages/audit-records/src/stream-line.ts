import {
  areKeys,
  type CheckpointKey,
  canonicalJson,
  isCount,
  isHash,
  isId,
  isString,
  type Json,
  matches,
  orNull,
  readShapedLine,
  type Shape,
} from "@hearth-and-keep/audit-chain";
import { recordFormat } from "./record.ts";

/** A record as exported, with the proof that it is a leaf of the log above it. */
export type ExportedRecord = {
  readonly log: number;
  readonly number: number;
  readonly index: number;
  readonly previous: number | null;
  readonly outcome: string;
  readonly subject_id: string | null;
  readonly revision: number | null;
  /** Null after erasure; the record is still verifiable without it. */
  readonly body: Json;
  readonly body_hash: string;
  /** Hashes from the leaf's sibling upwards, base64. */
  readonly proof: readonly string[];
};

/**
 * An export has one canonical JSON object per line: first the stream and its checkpoint keys, then the checkpoint of
 * each log in which the stream has leaves, followed by these records in the order of their indexes, and last the end.
 */
export type StreamExportLine =
  | {
      readonly type: "stream";
      readonly format: typeof recordFormat;
      readonly account: string;
      readonly stream: string;
      readonly keys: readonly CheckpointKey[];
    }
  /** `note` is the log's checkpoint as a signed note. The leaves before `archived_before` are in archive files instead. */
  | {
      readonly type: "log";
      readonly origin: string;
      readonly note: string;
      readonly archived_before?: number;
    }
  | ({ readonly type: "record" } & ExportedRecord)
  | { readonly type: "end"; readonly records: number };

export type StreamHeader = Extract<StreamExportLine, { readonly type: "stream" }>;

export function writeStreamLine(line: StreamExportLine): string {
  return `${canonicalJson(line)}\n`;
}

/** Undefined unless the line has exactly the members, types, order and spacing of an export. */
export function readStreamLine(text: string): StreamExportLine | undefined {
  // `shapes` below mirrors the type.
  return (readShapedLine(text, shapes) ?? readShapedLine(text, archivedShapes)) as
    | StreamExportLine
    | undefined;
}

/** The one encoding of 32 bytes. */
const isProofHash = matches(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/u);
/** Without line breaks, so that a record's text has one reading. */
const isOutcome = matches(/^[a-z]+(?:-[a-z]+)*$/u);

const shapes = new Map<string, Shape>([
  ["stream", { format: (value) => value === recordFormat, account: isId, stream: isId, keys: areKeys }],
  ["log", { origin: isString, note: isString }],
  [
    "record",
    {
      log: isCount,
      number: isCount,
      index: isCount,
      previous: orNull(isCount),
      outcome: isOutcome,
      subject_id: orNull(isId),
      revision: orNull(isCount),
      body: () => true,
      body_hash: isHash,
      proof: (value) => Array.isArray(value) && value.every(isProofHash),
    },
  ],
  ["end", { records: isCount }],
]);

/** A log of which older leaves are archived. */
const archivedShapes = new Map<string, Shape>([
  ["log", { origin: isString, note: isString, archived_before: (value) => isCount(value) && value !== 0 }],
]);
