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

export const archiveFormat = "keep-audit-archive/1";

/** A record with its position in the tree of the log above it. */
export type ArchivedRecord = {
  /** The log of the node that wrote the record. */
  readonly log: number;
  readonly number: number;
  readonly index: number;
  readonly previous: number | null;
  readonly account: string;
  readonly stream: string;
  readonly outcome: string;
  readonly subject_id: string | null;
  readonly revision: number | null;
  /** Null after erasure. */
  readonly body: Json;
  readonly body_hash: string;
};

/**
 * An archive has one canonical JSON object per line: first the month and the keys of checkpoints, then for each log its
 * records in the order of their indexes, with the signed checkpoints that cover them, and last the end.
 */
export type ArchiveLine =
  | {
      readonly type: "archive";
      readonly format: typeof archiveFormat;
      readonly month: string;
      readonly keys: readonly CheckpointKey[];
    }
  /**
   * The archive has the leaves from `first` on, `size` is that of the tree after its last one. `edge` has the hashes of
   * the partial tiles of the tree before the first one, lower levels first, base64.
   */
  | {
      readonly type: "log";
      readonly origin: string;
      readonly first: number;
      readonly size: number;
      readonly edge: readonly string[];
    }
  | ({ readonly type: "record" } & ArchivedRecord)
  /** The hash of a later leaf, base64: its record is not in this archive, but the next checkpoint covers it too. */
  | { readonly type: "leaf"; readonly hash: string }
  /** Covers every leaf of the log up to here. */
  | { readonly type: "checkpoint"; readonly note: string }
  | { readonly type: "end"; readonly records: number };

export type ArchiveHeader = Extract<ArchiveLine, { readonly type: "archive" }>;
export type ArchivedLog = Extract<ArchiveLine, { readonly type: "log" }>;

export function writeArchiveLine(line: ArchiveLine): string {
  return `${canonicalJson(line)}\n`;
}

/** Undefined unless the line has exactly the members, types, order and spacing of an archive. */
export function readArchiveLine(text: string): ArchiveLine | undefined {
  // `shapes` below mirrors the type.
  return readShapedLine(text, shapes) as ArchiveLine | undefined;
}

/** The one encoding of its bytes: without surplus bits before the padding. */
const isBase64 = matches(
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/u,
);

const shapes = new Map<string, Shape>([
  [
    "archive",
    { format: (value) => value === archiveFormat, month: matches(/^\d{4}-\d{2}$/u), keys: areKeys },
  ],
  [
    "log",
    {
      origin: isString,
      first: isCount,
      size: isCount,
      edge: (value) => Array.isArray(value) && value.every(isBase64),
    },
  ],
  [
    "record",
    {
      log: isCount,
      number: isCount,
      index: isCount,
      previous: orNull(isCount),
      account: isId,
      stream: isId,
      outcome: matches(/^[a-z]+(?:-[a-z]+)*$/u),
      subject_id: orNull(isId),
      revision: orNull(isCount),
      body: () => true,
      body_hash: isHash,
    },
  ],
  ["leaf", { hash: matches(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/u) }],
  ["checkpoint", { note: isString }],
  ["end", { records: isCount }],
]);
