/**
 * @module
 * API keys with limits, and what they use, in a database: SQLite for one machine, PostgreSQL for several nodes. Keys are
 * stored as SHA-256 hashes. A limit is checked and its use recorded in one transaction that locks the key, so that no
 * number of parallel requests, processes or nodes exceeds it. Windows slide: they hold for any 60 seconds. Settling a
 * request writes its row of the ledger in the same transaction, so that budgets and ledger always agree.
 * Imported by `access/`, `accounting/` and the commands that open it; knows neither HTTP nor any API.
 */
import type { KeyRole } from "@hearth-and-keep/hearth-contract";
import type { SettledUse, UsageLedger } from "./usage-ledger.ts";

/** Undefined means no limit. */
export type KeyLimits = {
  readonly requestsPerMinute?: number | undefined;
  /** Prompt and output tokens. */
  readonly tokensPerMinute?: number | undefined;
  readonly concurrentRequests?: number | undefined;
  /** Days and months begin at midnight UTC. */
  readonly tokensPerDay?: number | undefined;
  readonly tokensPerMonth?: number | undefined;
};

export type StoredKey = KeyLimits & {
  readonly id: string;
  /** Unique, also among revoked keys: what is stored for a key is stored under its name. */
  readonly name: string;
  readonly role: KeyRole;
  /** In hexadecimal. */
  readonly sha256: string;
  /** Names of the only models that the key may use; undefined allows all. */
  readonly models?: readonly string[] | undefined;
  /** Higher is served first. */
  readonly priority: number;
  /** Times are in milliseconds since 1970. */
  readonly createdAt: number;
  readonly expiresAt?: number | undefined;
  readonly revokedAt?: number | undefined;
};

export type LimitName = keyof KeyLimits;

/** One admitted request; numbers are consecutive for each key. */
export type RequestRef = { readonly keyId: string; readonly number: number };

/** The result of a check: `denied` names the limit that is reached, and nothing was recorded then. */
export type Decision = {
  readonly number: number;
  readonly denied?: LimitName | undefined;
  /** When a denied request can succeed, as far as that is known. */
  readonly waitMilliseconds: number;
  readonly limits: KeyLimits;
  /** In the window that ends now, with this request if it was admitted. */
  readonly requestsInWindow: number;
  readonly tokensInWindow: number;
  /** Until the window is empty if no request follows. */
  readonly requestsResetMilliseconds: number;
  readonly tokensResetMilliseconds: number;
};

/** What a new request reserves. */
export type Reservation = {
  readonly tokens: number;
  /** How many of them are the prompt's; undefined for a request that runs no model, which has no row in the ledger. */
  readonly inputTokens?: number | undefined;
};

/** What a key has used, with what running requests have reserved. */
export type KeyUsage = {
  readonly requestsInWindow: number;
  readonly tokensInWindow: number;
  readonly running: number;
  readonly tokensToday: number;
  readonly tokensThisMonth: number;
};

export type KeyStore = AsyncDisposable &
  UsageLedger & {
    /** Increases with every change of any key. Cheap, so that it can be polled. */
    version(): Promise<number>;
    list(): Promise<readonly StoredKey[]>;
    /** False if the name is taken. */
    insert(key: StoredKey): Promise<boolean>;
    /** Replaces everything but the id, the name and the time of creation. */
    update(key: StoredKey): Promise<void>;
    /** Checks all limits and reserves tokens for a new request. Undefined for an unknown key. */
    reserve(keyId: string, node: string, reservation: Reservation): Promise<Decision | undefined>;
    /** Reserves more tokens for a running request. */
    grow(request: RequestRef, tokens: number): Promise<Decision | undefined>;
    /** Replaces what was reserved by what was used. Only the first call for a request has an effect. */
    settle(request: RequestRef, used: SettledUse): Promise<void>;
    /** The limit that a running request exceeds by now, together with the requests before it. */
    findExceeded(request: RequestRef): Promise<LimitName | undefined>;
    usage(keyId: string): Promise<KeyUsage>;
    /**
     * Reports that this node lives, settles the requests of dead ones in full, and deletes what no window covers and a
     * bounded number of rows of the ledger that are older than its retention.
     */
    renew(node: string, leaseMilliseconds: number): Promise<void>;
    /** Calls back soon after a change that another process made. Without it, polling must do. */
    listen?(onChange: () => void): Promise<void>;
  };

export type StoreOptions = {
  /** A minute by default; tests use shorter ones. */
  readonly windowMilliseconds?: number;
  /** How long rows of the ledger are kept; for ever by default. */
  readonly usageRetentionMilliseconds?: number;
};

export const minute = 60_000;

/** How long a settled request is kept in addition to the window. */
export const retentionMilliseconds: number = 10 * minute;

/** Until the next midnight UTC, or the next first of a month. */
export function untilNext(period: "day" | "month", now: number): number {
  const date = new Date(now);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  return (period === "day" ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1)) - now;
}
