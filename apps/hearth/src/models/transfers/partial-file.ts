import { createHash, type Hash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { modelFailure } from "../model-failure.ts";
import { type BlobReference, digestPath } from "../store/blob-store.ts";
import { type Digest, toDigest } from "../store/digest.ts";
import type { ModelStore } from "../store/model-store.ts";
import { explainWriteProblem } from "../store/stage-content.ts";
import { Journal, openJournal } from "./journal.ts";

/** The unit in which content is kept: what of one had arrived when we were stopped is fetched again. */
export const pieceBytes = 1024 * 1024;
const hashedAtOnceBytes = 256 * 1024;
/** After so many pieces the disk is set to work, so that little is left for it at the end. */
const piecesBetweenSyncs = 32;

/** The unfinished content of a blob, as far as earlier attempts got it. */
export async function openPartialFile(store: ModelStore, blob: BlobReference): Promise<PartialFile> {
  const path = digestPath(store.root, "partial", blob.digest);
  await using stack = new AsyncDisposableStack();
  try {
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const file = stack.use(await open(path, flags, 0o644));
    const status = await file.stat();
    if (!status.isFile()) throw new Error("Cannot download into what is not a regular file");
    const isOld = status.size === blob.size;
    const journal = stack.use(await openJournal(`${path}.journal`, { size: blob.size, pieceBytes, isOld }));
    if (!isOld) {
      await file.truncate(0);
      await file.truncate(blob.size);
    }
    stack.move();
    return new PartialFile({ path, size: blob.size, file, journal });
  } catch (problem) {
    throw explainWriteProblem(problem);
  }
}

type Opened = {
  readonly path: string;
  readonly size: number;
  readonly file: FileHandle;
  readonly journal: Journal;
};

/**
 * One sparse file of the full size, and a journal of the pieces that are in it. A piece is missing or here. When the
 * machine itself goes down, the journal may know of a piece that never reached the disk; therefore nothing that it
 * says counts until a reader, which goes through the pieces in order behind the writers, has compared the piece with
 * the sum of what arrived. The same reader hashes the whole.
 */
export class PartialFile implements AsyncDisposable {
  readonly path: string;
  readonly #size: number;
  readonly #file: FileHandle;
  readonly #journal: Journal;
  readonly #sums: Map<number, number>;
  #unnoted: number[] = [];
  #noting: Promise<void> | undefined;
  #unsynced = 0;
  #syncing: Promise<void> | undefined;
  #reading: Promise<void> | undefined;
  #readPieces = 0;
  #isClosing = false;
  readonly #room = Buffer.allocUnsafe(pieceBytes);
  #hash: Hash = createHash("sha256");
  #problem: Error | undefined;

  constructor({ path, size, file, journal }: Opened) {
    this.path = path;
    this.#size = size;
    this.#file = file;
    this.#journal = journal;
    this.#sums = new Map([...journal.sums].filter(([piece]) => piece < this.pieceCount));
    this.#startReading();
  }

  get pieceCount(): number {
    return Math.ceil(this.#size / pieceBytes);
  }

  get completedBytes(): number {
    const isLastHere = this.#sums.has(this.pieceCount - 1);
    const shortBy = isLastHere ? pieceBytes - this.lengthOf(this.pieceCount - 1) : 0;
    return this.#sums.size * pieceBytes - shortBy;
  }

  lengthOf(piece: number): number {
    return Math.min(pieceBytes, this.#size - piece * pieceBytes);
  }

  has(piece: number): boolean {
    return this.#sums.has(piece);
  }

  /** Takes a whole piece as it came. */
  async write(piece: number, content: readonly Uint8Array[]): Promise<void> {
    const sum = content.reduce((running, chunk) => crc32(chunk, running), 0);
    try {
      const { bytesWritten } = await this.#file.writev(content, piece * pieceBytes);
      // A full disk takes a part first and refuses the rest.
      if (bytesWritten !== this.lengthOf(piece)) throw modelFailure({ kind: "store-full" });
    } catch (problem) {
      throw explainWriteProblem(problem);
    }
    this.#sums.set(piece, sum);
    this.#unnoted.push(piece);
    this.#startReading();
    this.#startSyncing();
    await (this.#noting ??= this.#note());
    if (this.#problem !== undefined) throw this.#problem;
  }

  /** When everything is written: the digest of the whole, on the disk. Undefined when a piece was damaged since. */
  async finish(): Promise<Digest | undefined> {
    await this.#reading;
    await this.#readOn();
    await Promise.all([this.#noting, this.#syncing]);
    if (this.#problem !== undefined) throw this.#problem;
    if (this.#readPieces < this.pieceCount) return undefined;
    await this.#syncWhole();
    return toDigest(this.#hash.copy().digest());
  }

  async #syncWhole(): Promise<void> {
    try {
      await this.#file.sync();
    } catch (problem) {
      throw explainWriteProblem(problem);
    }
  }

  /** Forgets everything: it was whole, and not what was promised. */
  async clear(): Promise<void> {
    this.#sums.clear();
    this.#readPieces = 0;
    this.#hash = createHash("sha256");
    await this.#journal.clear();
  }

  /** Removes what remains of the work: all of it, or the journal of a file that has its final name. */
  async remove(): Promise<void> {
    await rm(this.#journal.path, { force: true });
    await rm(this.path, { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    await Promise.all([this.#reading, this.#noting, this.#syncing]);
    await this.#journal[Symbol.asyncDispose]();
    await this.#file.close();
  }

  /** Never rejects. */
  async #note(): Promise<void> {
    try {
      while (this.#unnoted.length > 0) {
        const pieces = this.#unnoted;
        this.#unnoted = [];
        await this.#journal.note(pieces.map((piece) => [piece, this.#sums.get(piece) ?? 0]));
      }
    } catch (problem) {
      this.#fail(problem);
    } finally {
      this.#noting = undefined;
    }
  }

  /** Nobody waits for it but the end. What the disk refuses once must not be believed later, so it is remembered. */
  #startSyncing(): void {
    this.#unsynced += 1;
    if (this.#unsynced < piecesBetweenSyncs || this.#syncing !== undefined) return;
    this.#unsynced = 0;
    this.#syncing = this.#file
      .datasync()
      .catch((problem: unknown) => this.#fail(problem))
      .finally(() => void (this.#syncing = undefined));
  }

  #fail(problem: unknown): void {
    const explained = explainWriteProblem(problem);
    this.#problem ??= explained instanceof Error ? explained : new Error("Cannot keep what arrived");
  }

  /** In small parts, because nobody else's answer moves on while one is hashed. */
  async #addToHash(piece: Uint8Array): Promise<void> {
    for (let at = 0; at < piece.length; at += hashedAtOnceBytes) {
      this.#hash.update(piece.subarray(at, at + hashedAtOnceBytes));
      await nextTurn();
    }
  }

  #startReading(): void {
    if (this.#sums.has(this.#readPieces)) this.#reading ??= this.#readOn();
  }

  /** Never rejects. */
  async #readOn(): Promise<void> {
    try {
      while (!this.#isClosing) {
        const sum = this.#sums.get(this.#readPieces);
        if (sum === undefined) return;
        const length = this.lengthOf(this.#readPieces);
        const { bytesRead } = await this.#file.read(this.#room, 0, length, this.#readPieces * pieceBytes);
        const piece = this.#room.subarray(0, bytesRead);
        if (bytesRead !== length || crc32(piece) !== sum) {
          this.#sums.delete(this.#readPieces);
          return;
        }
        await this.#addToHash(piece);
        this.#readPieces += 1;
      }
    } catch (problem) {
      this.#fail(problem);
    } finally {
      this.#reading = undefined;
    }
  }
}
