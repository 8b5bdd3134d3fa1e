import type { Decision, KeyLimits, LimitName, StoredKey } from "./key-store.ts";
import { untilNext } from "./key-store.ts";

/** The columns of a key, with the same names in both databases. */
export type KeyRow = {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly sha256: string;
  /** A JSON list. */
  readonly models: string | null;
  readonly priority: number;
  /** PostgreSQL's driver returns 64-bit integers as text. */
  readonly created_at: number | string;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
  readonly concurrent_requests: number | null;
  readonly tokens_per_day: number | null;
  readonly tokens_per_month: number | null;
};

export const limitColumns = [
  "requests_per_minute",
  "tokens_per_minute",
  "concurrent_requests",
  "tokens_per_day",
  "tokens_per_month",
] as const satisfies readonly (keyof KeyRow)[];

export type LimitRow = Pick<KeyRow, (typeof limitColumns)[number]>;

/** In the order in which `valuesOf` lists them. */
export const keyColumns = [
  "id",
  "name",
  "created_at",
  "role",
  "sha256",
  "models",
  "priority",
  "expires_at",
  "revoked_at",
  ...limitColumns,
] as const satisfies readonly (keyof KeyRow)[];

/** Those that `update` changes. */
export const changedColumns: readonly (keyof KeyRow)[] = keyColumns.slice(3);

export function valuesOf(key: StoredKey): readonly (string | number | null)[] {
  return [key.id, key.name, key.createdAt, ...changedValuesOf(key)];
}

export function changedValuesOf(key: StoredKey): readonly (string | number | null)[] {
  return [
    key.role,
    key.sha256,
    key.models === undefined ? null : JSON.stringify(key.models),
    key.priority,
    key.expiresAt ?? null,
    key.revokedAt ?? null,
    key.requestsPerMinute ?? null,
    key.tokensPerMinute ?? null,
    key.concurrentRequests ?? null,
    key.tokensPerDay ?? null,
    key.tokensPerMonth ?? null,
  ];
}

export function readKey(row: KeyRow): StoredKey {
  return {
    id: row.id,
    name: row.name,
    role: row.role === "admin" ? "admin" : "inference",
    sha256: row.sha256,
    models: row.models === null ? undefined : readNames(row.models),
    priority: row.priority,
    createdAt: Number(row.created_at),
    expiresAt: toNumber(row.expires_at),
    revokedAt: toNumber(row.revoked_at),
    ...readLimits(row),
  };
}

/** A list that cannot be read allows nothing. */
function readNames(text: string): readonly string[] {
  const names: unknown = JSON.parse(text);
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

export function readLimits(row: LimitRow): KeyLimits {
  return {
    requestsPerMinute: toNumber(row.requests_per_minute),
    tokensPerMinute: toNumber(row.tokens_per_minute),
    concurrentRequests: toNumber(row.concurrent_requests),
    tokensPerDay: toNumber(row.tokens_per_day),
    tokensPerMonth: toNumber(row.tokens_per_month),
  };
}

function toNumber(value: number | string | null): number | undefined {
  return value === null ? undefined : Number(value);
}

/** A budget is free again with its next period. */
export function waitFor(denied: LimitName, milliseconds: number, now: number): Decision["waitMilliseconds"] {
  if (denied === "tokensPerDay") return untilNext("day", now);
  return denied === "tokensPerMonth" ? untilNext("month", now) : Math.max(1, milliseconds);
}
