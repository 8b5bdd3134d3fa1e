import { canonicalJson } from "./canonical-json.ts";
import type { Checkpoint, CheckpointKey } from "./checkpoint.ts";
import {
  areKeys,
  isBase64,
  isCount,
  isHash,
  isId,
  isString,
  orNull,
  readShapedLine,
  type Shape,
} from "./line-shape.ts";
import { type AuditLink, chainFormat, isTimestamp } from "./link.ts";

/**
 * An export has one canonical JSON object per line: first the chain and its checkpoint keys, then every link followed
 * by its checkpoints, and last the end of the chain at the time of the export.
 */
export type ExportLine =
  | {
      readonly type: "chain";
      readonly format: string;
      readonly account: string;
      readonly chain: string;
      readonly keys: readonly CheckpointKey[];
    }
  | ({ readonly type: "link" } & AuditLink)
  | ({ readonly type: "checkpoint" } & Checkpoint)
  | { readonly type: "end"; readonly seq: number; readonly hash: string };

export function writeExportLine(line: ExportLine): string {
  return `${canonicalJson(line)}\n`;
}

/** Undefined unless the line has exactly the members, types, order and spacing of an export. */
export function readExportLine(text: string): ExportLine | undefined {
  // `shapes` below mirrors the type.
  return readShapedLine(text, shapes) as ExportLine | undefined;
}

const shapes = new Map<string, Shape>([
  [
    "chain",
    {
      format: (value) => value === chainFormat,
      account: isId,
      chain: isId,
      keys: areKeys,
    },
  ],
  [
    "link",
    {
      seq: isCount,
      at: (value) => isString(value) && isTimestamp(value),
      previous: isHash,
      body_hash: isHash,
      hash: isHash,
      body: () => true,
      subject_id: orNull(isId),
      revision: orNull(isCount),
    },
  ],
  ["checkpoint", { chain: isId, seq: isCount, hash: isHash, key_version: isCount, signature: isBase64 }],
  ["end", { seq: isCount, hash: isHash }],
]);
