import { CanonicalFormError, canonicalJson, type Json } from "./canonical-json.ts";
import type { Checkpoint, CheckpointKey } from "./checkpoint.ts";
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
  const value = parse(text);
  if (!isMembers(value) || !hasShape(value)) return undefined;
  // `shapes` below mirrors the type.
  return value as ExportLine;
}

type Members = Readonly<Record<string, unknown>>;
type Shape = Readonly<Record<string, (value: unknown) => boolean>>;

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    // JSON.parse returns JSON values only.
    return canonicalJson(value as Json) === text ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof CanonicalFormError) return undefined;
    throw error;
  }
}

function hasShape(value: Members): boolean {
  const shape = typeof value["type"] === "string" ? shapes.get(value["type"]) : undefined;
  return shape !== undefined && fits(value, { type: isString, ...shape });
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

const isString = (value: unknown): boolean => typeof value === "string";
const matches =
  (pattern: RegExp) =>
  (value: unknown): boolean =>
    typeof value === "string" && pattern.test(value);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isId = matches(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u);
const isHash = matches(/^[0-9a-f]{64}$/u);
const isBase64 = matches(/^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/u);
const orNull =
  (isValid: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === null || isValid(value);
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
      at: (value) => typeof value === "string" && isTimestamp(value),
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
