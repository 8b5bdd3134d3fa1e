import { createHash, type Hash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { modelFailure } from "../model-failure.ts";
import { type BlobReference, digestPath } from "../store/blob-store.ts";
import { type Digest, digestFromHash } from "../store/digest.ts";
import { type ModelStore, partialFolder } from "../store/model-store.ts";
import { mapWriteError } from "../store/staged-content.ts";
import { Journal, openJournal } from "./journal.ts";

/** The unit of progress: a block that was incomplete when the download stopped is fetched again. */
export const blockBytes = 1024 * 1024;
const hashSliceBytes = 256 * 1024;
/** Syncing every so many blocks leaves little to sync at the end. */
const blocksBetweenSyncs = 32;

/**
 * Opens the unfinished content of a blob, including what earlier attempts downloaded. While another process downloads
 * into the same store, the file is a new one: two writers of one file could change it after it was verified.
 */
export async function openPartialFile(store: ModelStore, blob: BlobReference): Promise<PartialFile> {
  await using stack = new AsyncDisposableStack();
  const { isExclusive } = stack.use(store.claimDownloads());
  const path = isExclusive
    ? digestPath(store.root, "partial", blob.digest)
    : join(partialFolder(store.root), randomUUID());
  try {
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const file = stack.use(await open(path, flags, 0o644));
    const status = await file.stat();
    if (!status.isFile()) throw new Error("Cannot download: the target is not a regular file");
    const hasContent = status.size === blob.size;
    const journal = stack.use(
      await openJournal(`${path}.journal`, { size: blob.size, blockBytes, hasContent }),
    );
    if (!hasContent) {
      await file.truncate(0);
      await file.truncate(blob.size);
    }
    // Only files that are named by their digest are ever resumed.
    if (!isExclusive) stack.defer(() => removeFiles(path));
    return new PartialFile({ path, size: blob.size, file, journal, resources: stack.move() });
  } catch (error) {
    throw mapWriteError(error);
  }
}

type OpenedFile = {
  readonly path: string;
  readonly size: number;
  readonly file: FileHandle;
  readonly journal: Journal;
  /** Disposed with the file. */
  readonly resources: AsyncDisposableStack;
};

async function removeFiles(path: string): Promise<void> {
  await rm(`${path}.journal`, { force: true });
  await rm(path, { force: true });
}

/**
 * A sparse file of the full size, and a journal of the blocks that it contains. After a power failure the journal may
 * list a block that never reached the disk, so a verifier follows the writers in block order and compares each block
 * with the checksum of what arrived; a block that differs counts as missing. The same pass hashes the whole file.
 */
export class PartialFile implements AsyncDisposable {
  readonly path: string;
  readonly #size: number;
  readonly #file: FileHandle;
  readonly #journal: Journal;
  readonly #resources: AsyncDisposableStack;
  readonly #checksums: Map<number, number>;
  #unjournaled: number[] = [];
  #journaling: Promise<void> | undefined;
  #unsyncedBlocks = 0;
  #syncing: Promise<void> | undefined;
  #verifying: Promise<void> | undefined;
  #verifiedBlocks = 0;
  #isClosing = false;
  readonly #buffer = Buffer.allocUnsafe(blockBytes);
  #hash: Hash = createHash("sha256");
  #error: Error | undefined;

  constructor({ path, size, file, journal, resources }: OpenedFile) {
    this.path = path;
    this.#size = size;
    this.#file = file;
    this.#journal = journal;
    this.#resources = resources;
    this.#checksums = new Map([...journal.checksums].filter(([block]) => block < this.blockCount));
    this.#startVerifying();
  }

  get blockCount(): number {
    return Math.ceil(this.#size / blockBytes);
  }

  get completedBytes(): number {
    const hasLast = this.#checksums.has(this.blockCount - 1);
    const missingInLast = hasLast ? blockBytes - this.lengthOf(this.blockCount - 1) : 0;
    return this.#checksums.size * blockBytes - missingInLast;
  }

  lengthOf(block: number): number {
    return Math.min(blockBytes, this.#size - block * blockBytes);
  }

  has(block: number): boolean {
    return this.#checksums.has(block);
  }

  /** Writes one complete block. */
  async write(block: number, content: readonly Uint8Array[]): Promise<void> {
    const checksum = content.reduce((running, chunk) => crc32(chunk, running), 0);
    try {
      const { bytesWritten } = await this.#file.writev(content, block * blockBytes);
      // A full disk accepts part of a write first and rejects the next.
      if (bytesWritten !== this.lengthOf(block)) throw modelFailure({ kind: "store-full" });
    } catch (error) {
      throw mapWriteError(error);
    }
    this.#checksums.set(block, checksum);
    this.#unjournaled.push(block);
    this.#startVerifying();
    this.#startSyncing();
    await (this.#journaling ??= this.#appendToJournal());
    if (this.#error !== undefined) throw this.#error;
  }

  /** Once all blocks are written: syncs and returns the digest, or undefined when a block was damaged on disk. */
  async finish(): Promise<Digest | undefined> {
    await this.#verifying;
    await this.#verify();
    await Promise.all([this.#journaling, this.#syncing]);
    if (this.#error !== undefined) throw this.#error;
    if (this.#verifiedBlocks < this.blockCount) return undefined;
    await this.#sync();
    return digestFromHash(this.#hash.copy().digest());
  }

  async #sync(): Promise<void> {
    try {
      await this.#file.sync();
    } catch (error) {
      throw mapWriteError(error);
    }
  }

  /** Discards all blocks, after the complete content turned out to have the wrong digest. */
  async clear(): Promise<void> {
    this.#checksums.clear();
    this.#verifiedBlocks = 0;
    this.#hash = createHash("sha256");
    await this.#journal.clear();
  }

  /** Removes the journal, and the file unless it was already renamed to its final name. */
  async remove(): Promise<void> {
    await removeFiles(this.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    await Promise.all([this.#verifying, this.#journaling, this.#syncing]);
    await this.#resources.disposeAsync();
  }

  /** Never rejects. */
  async #appendToJournal(): Promise<void> {
    try {
      while (this.#unjournaled.length > 0) {
        const blocks = this.#unjournaled;
        this.#unjournaled = [];
        await this.#journal.append(blocks.map((block) => [block, this.#checksums.get(block) ?? 0]));
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#journaling = undefined;
    }
  }

  /** Runs in the background. An error is recorded, because a later sync may succeed although data was lost. */
  #startSyncing(): void {
    this.#unsyncedBlocks += 1;
    if (this.#unsyncedBlocks < blocksBetweenSyncs || this.#syncing !== undefined) return;
    this.#unsyncedBlocks = 0;
    this.#syncing = this.#file
      .datasync()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => void (this.#syncing = undefined));
  }

  #fail(cause: unknown): void {
    const error = mapWriteError(cause);
    this.#error ??= error instanceof Error ? error : new Error("Cannot store the downloaded content");
  }

  /** In small slices, because hashing blocks the event loop and with it every other response. */
  async #addToHash(block: Uint8Array): Promise<void> {
    for (let offset = 0; offset < block.length; offset += hashSliceBytes) {
      this.#hash.update(block.subarray(offset, offset + hashSliceBytes));
      await yieldToEventLoop();
    }
  }

  #startVerifying(): void {
    if (this.#checksums.has(this.#verifiedBlocks)) this.#verifying ??= this.#verify();
  }

  /** Verifies and hashes blocks in order up to the first missing one. Never rejects. */
  async #verify(): Promise<void> {
    try {
      while (!this.#isClosing) {
        const checksum = this.#checksums.get(this.#verifiedBlocks);
        if (checksum === undefined) return;
        const length = this.lengthOf(this.#verifiedBlocks);
        const offset = this.#verifiedBlocks * blockBytes;
        const { bytesRead } = await this.#file.read(this.#buffer, 0, length, offset);
        const block = this.#buffer.subarray(0, bytesRead);
        if (bytesRead !== length || crc32(block) !== checksum) {
          this.#checksums.delete(this.#verifiedBlocks);
          return;
        }
        await this.#addToHash(block);
        this.#verifiedBlocks += 1;
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#verifying = undefined;
    }
  }
}
