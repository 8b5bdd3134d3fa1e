/** Where a model ran; empty if the request ended before that was known. */
export type UsageLocation = "local" | "pool" | "remote" | "";

/** What is kept of one finished request that runs a model: counts, times and names, never text. */
export type UsageEntry = {
  /** The stored name, never one that a client made up; empty if the request ended before it was known. */
  readonly model: string;
  /** The driver that ran it. */
  readonly engine: string;
  readonly location: UsageLocation;
  /** Of the remote engine that responded. */
  readonly address?: string | undefined;
  readonly inputTokens: number;
  /** Those of the prompt that were found in the cache. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly queueMilliseconds?: number | undefined;
  readonly loadMilliseconds?: number | undefined;
  readonly firstTokenMilliseconds?: number | undefined;
  readonly totalMilliseconds: number;
  readonly stopReason?: string | undefined;
  /** A failure's code; "interrupted" if the process died. */
  readonly failure?: string | undefined;
};

/** A key of the database has an id; configured ones are known by their name only. */
export type UsageKey = { readonly id?: string | undefined; readonly name: string };

export type KeyedEntry = { readonly key: UsageKey; readonly entry: UsageEntry };

export type UsageRecord = UsageEntry & {
  /** Higher is newer. */
  readonly id: number;
  readonly finishedAt: number;
  readonly key: string;
};

/** The sums of one key, model and location in one bucket of time. */
export type UsageSum = {
  /** In milliseconds since 1970. */
  readonly start: number;
  readonly key: string;
  readonly model: string;
  readonly location: UsageLocation;
  readonly requests: number;
  readonly failed: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** The number of requests whose time in the queue was measured, zero included. */
  readonly queued: number;
  readonly queueMilliseconds: number;
  readonly firstTokens: number;
  readonly firstTokenMilliseconds: number;
};

export type SumQuery = {
  /** Whole hours. */
  readonly from: number;
  readonly to: number;
  readonly bucketMilliseconds: number;
  /** Only the rows of this key. */
  readonly own?: UsageKey | undefined;
  readonly limit: number;
};

export type RecordQuery = {
  readonly own?: UsageKey | undefined;
  readonly keyName?: string | undefined;
  readonly model?: string | undefined;
  /** Only rows before the one with this id. */
  readonly before?: number | undefined;
  readonly limit: number;
};

/** Rows of finished requests, and their sums for each hour, which are written in the same transaction. */
export type UsageLedger = {
  /** Rows of requests that nothing was reserved for. */
  record(entries: readonly KeyedEntry[]): Promise<void>;
  /** In the order of time, key, model and location. */
  sumUsage(query: SumQuery): Promise<readonly UsageSum[]>;
  /** The newest first. */
  listUsage(query: RecordQuery): Promise<readonly UsageRecord[]>;
};

/** What a request has used: tokens only, or everything that the ledger keeps of it. */
export type SettledUse = number | UsageEntry;

export function tokensOf(used: SettledUse): number {
  return typeof used === "number" ? used : used.inputTokens + used.outputTokens;
}

/** A request whose process died. Its actual use is unknown, so it is charged its whole reservation. */
export function interruptedEntry({ tokens, inputTokens, startedAt, now }: Interrupted): UsageEntry {
  const input = Math.min(tokens, inputTokens);
  return {
    model: "",
    engine: "",
    location: "",
    inputTokens: input,
    cachedTokens: 0,
    outputTokens: tokens - input,
    totalMilliseconds: Math.max(0, now - startedAt),
    failure: "interrupted",
  };
}

type Interrupted = {
  readonly tokens: number;
  readonly inputTokens: number;
  readonly startedAt: number;
  readonly now: number;
};

/** Rows that a renewal deletes at most, so that no request waits for it. */
export const deletedPerRenewal = 2000;
