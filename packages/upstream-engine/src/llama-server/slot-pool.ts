import { setTimeout as sleep } from "node:timers/promises";
import { type Slot, SlotPool } from "@hearth-and-keep/engine-host";

type ServerSlot = {
  readonly id: number;
  /** What it has read and written, as far as we know: the engine may hold more, never anything else. */
  tokens: readonly number[];
};

export type LeasedSlot = {
  readonly id: number;
  /** How many of the prompt's tokens are in it already; the last one is always read again. */
  readonly commonTokens: number;
  /** Somebody else's words are in it, which must not be used. */
  readonly isForeign: boolean;
  /** What the engine has shown to be in it now. Until the first of these a foreign slot is nobody's. */
  note(tokens: readonly number[]): void;
  /** Work that nobody can stop: the slot is not free before it is done. */
  occupy(work: Promise<unknown>): void;
  giveBack(state: SlotState): void;
};

/**
 * How its answer came to an end: to its own, or cut off, before or after anything was heard of it. One that was cut
 * off is lent again only when the engine says that it is idle.
 */
export type SlotState = "ended" | "cut off" | "unheard";

export type SlotRequest = {
  readonly prompt: readonly number[];
  readonly partition: string;
  readonly signal: AbortSignal;
};

const shortestWait = 5;
const longestWait = 100;

/** The slots of one engine, lent one to each request under way. */
export class ServerSlotPool {
  readonly #places: SlotPool<ServerSlot>;
  readonly #isIdle: (id: number) => Promise<boolean>;
  #taken = 0;

  /** `isIdle` throws once the engine is gone. */
  constructor(slots: number, isIdle: (id: number) => Promise<boolean>) {
    const all = Array.from({ length: slots }, (_none, id): ServerSlot => ({ id, tokens: [] }));
    this.#places = new SlotPool(all, { cachedTokens: ({ tokens }) => tokens, prefersNeighbours: false });
    this.#isIdle = isIdle;
  }

  /** Whether one request has the engine to itself. */
  get isAlone(): boolean {
    return this.#taken === 1 && this.#places.waitingRequests === 0;
  }

  async lend(wish: SlotRequest): Promise<LeasedSlot> {
    const place = await this.#places.acquire(wish);
    if (wish.signal.aborted) {
      this.#places.release(place);
      throw wish.signal.reason;
    }
    this.#taken += 1;
    const { resource: slot } = place;
    const isForeign = place.partition !== wish.partition;
    const commonTokens = Math.max(
      0,
      Math.min(this.#places.cachedPrefix(place, wish), wish.prompt.length - 1),
    );
    // A request that never begins leaves the last one's words there, and one that is cut off some of its own.
    if (isForeign) place.partition = undefined;
    slot.tokens = wish.prompt.slice(0, commonTokens);
    let work: Promise<unknown> | undefined;
    return {
      id: slot.id,
      commonTokens,
      isForeign,
      note(tokens) {
        place.partition = wish.partition;
        slot.tokens = tokens;
      },
      occupy: (more) => void (work = more),
      giveBack: (state) => void this.#giveBack(place, state, work),
    };
  }

  async #giveBack(
    place: Slot<ServerSlot>,
    state: SlotState,
    work: Promise<unknown> | undefined,
  ): Promise<void> {
    try {
      // A step that failed leaves its slot behind; whether it is idle is asked below.
      await work?.catch(() => undefined);
      if (state !== "ended") await this.#untilIdle(place.resource.id, state);
    } catch {
      // The engine is gone, and its slots with it.
      return;
    } finally {
      this.#taken -= 1;
    }
    this.#places.release(place);
  }

  /** Twice in a row for one that was not heard of: it may have been cut off on its way and be about to begin. */
  async #untilIdle(id: number, state: SlotState): Promise<void> {
    let missing = state === "unheard" ? 2 : 1;
    for (let wait = shortestWait; ; wait = Math.min(longestWait, wait * 1.5)) {
      missing = (await this.#isIdle(id)) ? missing - 1 : Math.max(missing, 1);
      if (missing <= 0) return;
      await sleep(wait);
    }
  }
}
