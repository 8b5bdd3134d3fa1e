import { CanonicalFormError, canonicalJson, type Json } from "./canonical-json.ts";
import type { Checkpoint, CheckpointKey } from "./checkpoint.ts";
import { type AuditLink, chainFormat, isMoment } from "./link.ts";

/**
 * An export is one canonical JSON object a line: what chain it is and the keys of its checkpoints, then every link with
 * the checkpoints that were made of it, and at last where the chain ended when it was exported.
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

/** Undefined for anything that no export has: other members, other kinds of values, another order or spacing. */
export function readExportLine(text: string): ExportLine | undefined {
  const value = parse(text);
  if (!isMembers(value) || !hasShape(value)) return undefined;
  // The shapes below are those of the type.
  return value as ExportLine;
}

type Members = Readonly<Record<string, unknown>>;
type Shape = Readonly<Record<string, (value: unknown) => boolean>>;

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    // What JSON.parse gives is JSON.
    return canonicalJson(value as Json) === text ? value : undefined;
  } catch (problem) {
    if (problem instanceof SyntaxError || problem instanceof CanonicalFormError) return undefined;
    throw problem;
  }
}

function hasShape(value: Members): boolean {
  const shape = typeof value["type"] === "string" ? shapes.get(value["type"]) : undefined;
  return shape !== undefined && fits(value, { type: isText, ...shape });
}

function fits(value: Members, shape: Shape): boolean {
  const names = Object.keys(shape);
  return (
    Object.keys(value).length === names.length &&
    names.every((name) => Object.hasOwn(value, name) && shape[name]?.(value[name]) === true)
  );
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isText = (value: unknown): boolean => typeof value === "string";
const matches =
  (pattern: RegExp) =>
  (value: unknown): boolean =>
    typeof value === "string" && pattern.test(value);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isId = matches(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u);
const isHash = matches(/^[0-9a-f]{64}$/u);
const isBase64 = matches(/^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/u);
const orNull =
  (isFine: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === null || isFine(value);
const isKey = (value: unknown): boolean =>
  isMembers(value) && fits(value, { version: isCount, public_key: isBase64 });

const shapes = new Map<string, Shape>([
  [
    "chain",
    {
      format: (value) => value === chainFormat,
      account: isId,
      chain: isId,
      keys: (value) => Array.isArray(value) && value.every(isKey),
    },
  ],
  [
    "link",
    {
      seq: isCount,
      at: (value) => typeof value === "string" && isMoment(value),
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
