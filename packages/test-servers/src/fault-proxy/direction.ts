import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { ArmedFault, Ending } from "./fault.ts";
import { buildShaper, type ConnectionSide, type Shaper } from "./shaper.ts";
import type { Step } from "./step.ts";

type DirectionOptions = {
  readonly source: Socket;
  readonly sink: Socket;
  readonly side: ConnectionSide;
  /** Returns whether these bytes are the first in this direction since bytes flowed the other way. */
  readonly noteTurn: () => boolean;
  readonly endConnection: (how: Ending) => void;
};

type PendingBytes = { readonly bytes: Buffer; readonly startsTurn: boolean };

const nothing: PendingBytes = { bytes: Buffer.alloc(0), startsTurn: false };

/** One direction of one connection: reads a chunk, applies the faults, and writes the result before reading again. */
export class DirectionState {
  readonly #options: DirectionOptions;
  #shaper: Shaper;
  #interruption = new AbortController();
  #isOver = false;
  #forwardedBytes = 0;
  // Bytes held back by a replaced shaper; they pass through the new one first.
  #carried: PendingBytes = nothing;

  constructor(options: DirectionOptions, faults: readonly ArmedFault[]) {
    this.#options = options;
    this.#shaper = buildShaper(faults, options.side);
    options.sink.once("close", () => this.#interrupt());
  }

  get forwardedBytes(): number {
    return this.#forwardedBytes;
  }

  /** Takes effect immediately, including on bytes that an earlier fault holds back. */
  setFaults(faults: readonly ArmedFault[]): void {
    this.#carried = join(this.#carried, { bytes: this.#shaper.release(), startsTurn: true });
    this.#shaper = buildShaper(faults, this.#options.side);
    this.#interrupt();
  }

  /** Stops forwarding; further bytes are read and dropped, since closing a socket with unread bytes resets it. */
  stop(): void {
    this.#isOver = true;
    this.#interrupt();
  }

  async run(): Promise<void> {
    const { source, sink, noteTurn } = this.#options;
    await this.#pass(nothing);
    for await (const bytes of source.iterator({ destroyOnReturn: false })) {
      if (!this.#isOver) await this.#pass({ bytes, startsTurn: noteTurn() });
    }
    await this.#write(join(this.#takeCarried(), { bytes: this.#shaper.release(), startsTurn: true }).bytes);
    if (!this.#isOver) sink.end();
  }

  async #pass(arrived: PendingBytes): Promise<void> {
    let pending = join(this.#takeCarried(), arrived);
    do {
      pending = await this.#perform(this.#shaper.shape(pending.bytes, pending.startsTurn));
      pending = join(pending, this.#takeCarried());
    } while (pending.bytes.length > 0 && !this.#isOver);
  }

  /** Returns the bytes that remain when the faults change midway. */
  async #perform(steps: readonly Step[]): Promise<PendingBytes> {
    const { signal } = this.#interruption;
    for (const [index, step] of steps.entries()) {
      switch (step.type) {
        case "forward":
          await this.#write(step.bytes);
          break;
        case "wait":
          await sleep(step.milliseconds, undefined, { signal }).catch(ignoreInterruption);
          break;
        case "hold":
          await untilInterrupted(signal);
          break;
        case "end":
          this.#options.endConnection(step.how);
          break;
      }
      if (this.#isOver) return nothing;
      if (signal.aborted) return collectForwarded(steps.slice(index + 1));
    }
    return nothing;
  }

  /** Resolves when the kernel has the bytes; this gives back-pressure, and a later reset loses none of them. */
  async #write(bytes: Buffer): Promise<void> {
    if (bytes.length === 0 || this.#isOver) return;
    this.#forwardedBytes += bytes.length;
    await new Promise<void>((resolve, reject) => {
      this.#options.sink.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  #takeCarried(): PendingBytes {
    const carried = this.#carried;
    this.#carried = nothing;
    return carried;
  }

  #interrupt(): void {
    this.#interruption.abort();
    this.#interruption = new AbortController();
  }
}

function join(earlier: PendingBytes, later: PendingBytes): PendingBytes {
  if (earlier.bytes.length === 0) return later;
  if (later.bytes.length === 0) return earlier;
  return { bytes: Buffer.concat([earlier.bytes, later.bytes]), startsTurn: earlier.startsTurn };
}

function ignoreInterruption(error: unknown): void {
  if (!(error instanceof Error) || error.name !== "AbortError") throw error;
}

function untilInterrupted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function collectForwarded(steps: readonly Step[]): PendingBytes {
  const chunks = steps.filter((step) => step.type === "forward");
  return {
    bytes: Buffer.concat(chunks.map((chunk) => chunk.bytes)),
    startsTurn: chunks[0]?.startsTurn ?? false,
  };
}
