import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { ArmedFault, Ending } from "./fault.ts";
import { buildShaper, type ConnectionSide, type Shaper } from "./shaper.ts";
import type { Step } from "./step.ts";

type LaneParts = {
  readonly source: Socket;
  readonly sink: Socket;
  readonly place: ConnectionSide;
  /** Says whether these bytes are the first to flow this way since bytes flowed the other way. */
  readonly noteTurn: () => boolean;
  readonly endConnection: (how: Ending) => void;
};

type Rest = { readonly bytes: Buffer; readonly startsTurn: boolean };

const nothing: Rest = { bytes: Buffer.alloc(0), startsTurn: false };

/** One direction of one connection: reads, lets the faults decide, and writes before it reads again. */
export class DirectionState {
  readonly #parts: LaneParts;
  #shaper: Shaper;
  #interruption = new AbortController();
  #isOver = false;
  #forwardedBytes = 0;
  // Bytes that a replaced shaper held back; they go through the new one first.
  #carried: Rest = nothing;

  constructor(parts: LaneParts, faults: readonly ArmedFault[]) {
    this.#parts = parts;
    this.#shaper = buildShaper(faults, parts.place);
    parts.sink.once("close", () => this.#interrupt());
  }

  get forwardedBytes(): number {
    return this.#forwardedBytes;
  }

  /** Takes effect at once, also on bytes that an earlier fault still holds back. */
  setFaults(faults: readonly ArmedFault[]): void {
    this.#carried = join(this.#carried, { bytes: this.#shaper.release(), startsTurn: true });
    this.#shaper = buildShaper(faults, this.#parts.place);
    this.#interrupt();
  }

  /** Forwards nothing more; what still arrives is read and dropped, since closing on unread bytes resets. */
  stop(): void {
    this.#isOver = true;
    this.#interrupt();
  }

  async run(): Promise<void> {
    const { source, sink, noteTurn } = this.#parts;
    await this.#pass(nothing);
    for await (const bytes of source.iterator({ destroyOnReturn: false })) {
      if (!this.#isOver) await this.#pass({ bytes, startsTurn: noteTurn() });
    }
    await this.#write(join(this.#takeCarried(), { bytes: this.#shaper.release(), startsTurn: true }).bytes);
    if (!this.#isOver) sink.end();
  }

  async #pass(arrived: Rest): Promise<void> {
    let rest = join(this.#takeCarried(), arrived);
    do {
      rest = await this.#perform(this.#shaper.shape(rest.bytes, rest.startsTurn));
      rest = join(rest, this.#takeCarried());
    } while (rest.bytes.length > 0 && !this.#isOver);
  }

  /** Gives back the bytes that are still to go when the faults change on the way. */
  async #perform(steps: readonly Step[]): Promise<Rest> {
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
          this.#parts.endConnection(step.how);
          break;
      }
      if (this.#isOver) return nothing;
      if (signal.aborted) return gather(steps.slice(index + 1));
    }
    return nothing;
  }

  /** Done when the kernel has the bytes: this is the back-pressure, and a reset after it loses none of them. */
  async #write(bytes: Buffer): Promise<void> {
    if (bytes.length === 0 || this.#isOver) return;
    this.#forwardedBytes += bytes.length;
    await new Promise<void>((resolve, reject) => {
      this.#parts.sink.write(bytes, (problem) => (problem ? reject(problem) : resolve()));
    });
  }

  #takeCarried(): Rest {
    const carried = this.#carried;
    this.#carried = nothing;
    return carried;
  }

  #interrupt(): void {
    this.#interruption.abort();
    this.#interruption = new AbortController();
  }
}

function join(earlier: Rest, later: Rest): Rest {
  if (earlier.bytes.length === 0) return later;
  if (later.bytes.length === 0) return earlier;
  return { bytes: Buffer.concat([earlier.bytes, later.bytes]), startsTurn: earlier.startsTurn };
}

function ignoreInterruption(problem: unknown): void {
  if (!(problem instanceof Error) || problem.name !== "AbortError") throw problem;
}

function untilInterrupted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function gather(steps: readonly Step[]): Rest {
  const pieces = steps.filter((step) => step.type === "forward");
  return {
    bytes: Buffer.concat(pieces.map((piece) => piece.bytes)),
    startsTurn: pieces[0]?.startsTurn ?? false,
  };
}
