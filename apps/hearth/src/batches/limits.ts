export type BatchLimits = {
  /** Per API key and API. */
  readonly maxBatches: number;
  /** Per API key. */
  readonly maxFiles: number;
  /** Per API key, of files and batches together. */
  readonly maxBytes: number;
  /** Of all keys together. */
  readonly maxTotalBytes: number;
  /** Requests that have not finished this long after their batch was created expire. */
  readonly processingSeconds: number;
  /** How long results are kept after the end of their batch, and files that set no time of their own. */
  readonly retentionSeconds: number;
  /** Requests of all batches that run concurrently. */
  readonly maxRunning: number;
};

const mebibyte = 1024 * 1024;
const day = 24 * 3600;

export const defaultBatchLimits: BatchLimits = {
  maxBatches: 100,
  maxFiles: 200,
  maxBytes: 64 * mebibyte,
  maxTotalBytes: 256 * mebibyte,
  processingSeconds: day,
  retentionSeconds: day,
  maxRunning: 2,
};

/** Per batch. */
export const maxBatchRequests = 1000;
