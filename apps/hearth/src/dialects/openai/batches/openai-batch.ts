import type { Batch, BatchResult } from "../../../batches/batch.ts";
import type { Stored } from "../../../batches/keyed-store.ts";
import type { FileError } from "./read-lines.ts";
import type { CreateBatchBody } from "./schema.ts";

export type BatchStatus =
  | "validating"
  | "failed"
  | "in_progress"
  | "finalizing"
  | "completed"
  | "expired"
  | "cancelling"
  | "cancelled";

export type OutputFiles = { readonly outputFileId?: string; readonly errorFileId?: string };

type NewBatch = Pick<Stored, "id"> & {
  readonly body: CreateBatchBody;
  readonly processingSeconds: number;
  readonly retentionSeconds: number;
};

/**
 * A batch of the OpenAI API, around the one that runs its requests:
 *
 *   validating --read--> in_progress --all settled--> finalizing --files written--> completed, cancelled or expired
 *   validating --unreadable--> failed
 *   validating, in_progress --cancel--> cancelling --running ones stopped--> finalizing
 */
export class OpenAIBatch implements Stored {
  readonly id: string;
  readonly body: CreateBatchBody;
  readonly createdAt: Date = new Date();
  readonly expiresAt: Date;
  readonly #retentionSeconds: number;
  readonly #reachedAt = new Map<BatchStatus, Date>();
  #status: BatchStatus = "validating";
  #running: Batch | undefined;
  #counts = { total: 0, completed: 0, failed: 0 };
  #error: FileError | undefined;
  #files: OutputFiles = {};

  constructor({ id, body, processingSeconds, retentionSeconds }: NewBatch) {
    this.id = id;
    this.body = body;
    this.expiresAt = new Date(this.createdAt.getTime() + processingSeconds * 1000);
    this.#retentionSeconds = retentionSeconds;
  }

  get status(): BatchStatus {
    return this.#status;
  }

  get error(): FileError | undefined {
    return this.#error;
  }

  get files(): OutputFiles {
    return this.#files;
  }

  get counts(): { readonly total: number; readonly completed: number; readonly failed: number } {
    const batch = this.#running;
    if (batch === undefined) return this.#counts;
    const count = (type: BatchResult["type"]): number => batch.count(type);
    return { total: batch.requestCount, completed: count("succeeded"), failed: count("errored") };
  }

  get deletedAt(): number {
    const endedAt = (["failed", "completed", "cancelled", "expired"] as const)
      .map((status) => this.reachedAt(status))
      .find((date) => date !== undefined);
    if (endedAt === undefined) return Number.POSITIVE_INFINITY;
    return endedAt.getTime() + this.#retentionSeconds * 1000;
  }

  reachedAt(status: BatchStatus): Date | undefined {
    return this.#reachedAt.get(status);
  }

  /** The file cannot be run. */
  fail(error: FileError): void {
    this.#error = error;
    this.#reach("failed");
  }

  /** Its requests run now, unless it has been cancelled meanwhile. */
  start(batch: Batch): void {
    this.#running = batch;
    if (this.#status === "cancelling") batch.stop("canceled");
    else this.#reach("in_progress");
  }

  /** False if it is too late. */
  cancel(): boolean {
    if (this.#status !== "validating" && this.#status !== "in_progress") return false;
    this.#reach("cancelling");
    this.#running?.stop("canceled");
    return true;
  }

  finalize(): void {
    this.#reach("finalizing");
  }

  /** The results are in these files from now on. */
  finish(files: OutputFiles): void {
    const batch = this.#running;
    this.#counts = this.counts;
    this.#files = files;
    this.#running = undefined;
    if (this.reachedAt("cancelling") !== undefined) this.#reach("cancelled");
    else this.#reach(batch !== undefined && batch.count("expired") > 0 ? "expired" : "completed");
  }

  release(): void {
    this.#running?.release();
  }

  #reach(status: BatchStatus): void {
    this.#status = status;
    this.#reachedAt.set(status, new Date());
  }
}
