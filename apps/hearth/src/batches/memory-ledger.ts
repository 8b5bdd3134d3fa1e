import { requestFailure } from "../failures.ts";
import type { BatchLimits } from "./limits.ts";

/** Memory that one file or batch has reserved. */
export type Reservation = {
  /** Changes the reserved size. False if there is no memory for it; the size is unchanged then. */
  resize(bytes: number): boolean;
  release(): void;
};

/** Counts the memory of files and batches, per API key and of all keys together. */
export class MemoryLedger {
  readonly #limits: Pick<BatchLimits, "maxBytes" | "maxTotalBytes">;
  readonly #bytesOf = new Map<string, number>();
  #bytes = 0;

  constructor(limits: Pick<BatchLimits, "maxBytes" | "maxTotalBytes">) {
    this.#limits = limits;
  }

  /** Of all keys. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Throws a RequestFailure if there is no memory for it. */
  reserve(keyName: string, bytes: number): Reservation {
    let reserved = 0;
    const resize = (size: number): boolean => {
      const isPossible = this.#add(keyName, size - reserved);
      if (isPossible) reserved = size;
      return isPossible;
    };
    if (!resize(bytes))
      throw requestFailure({ kind: "batch-storage-full", reason: this.#explain(keyName, bytes) });
    return { resize, release: () => void resize(0) };
  }

  #add(keyName: string, bytes: number): boolean {
    const ofKey = (this.#bytesOf.get(keyName) ?? 0) + bytes;
    const { maxBytes, maxTotalBytes } = this.#limits;
    if (bytes > 0 && (ofKey > maxBytes || this.#bytes + bytes > maxTotalBytes)) return false;
    if (ofKey === 0) this.#bytesOf.delete(keyName);
    else this.#bytesOf.set(keyName, ofKey);
    this.#bytes += bytes;
    return true;
  }

  #explain(keyName: string, bytes: number): string {
    const { maxBytes } = this.#limits;
    const used = this.#bytesOf.get(keyName) ?? 0;
    if (used + bytes <= maxBytes) return "other API keys use the memory for them; try again later";
    return `this API key may store ${maxBytes} bytes, uses ${used} and needs ${bytes} more; delete files or batches, or send fewer requests`;
  }
}
