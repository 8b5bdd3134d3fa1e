import { setTimeout as sleep } from "node:timers/promises";
import { type Slot, SlotPool } from "@hearth-and-keep/engine-host";

type ServerSlot = {
  readonly id: number;
  /** The tokens known to be in its cache: the engine may have more, but never different ones. */
  tokens: readonly number[];
};

export type LeasedSlot = {
  readonly id: number;
  /** How many tokens of the prompt are cached; the last one is always evaluated again. */
  readonly commonTokens: number;
  /** It holds tokens of another cache partition, which must not be reused. */
  readonly isForeign: boolean;
  /** Records the tokens that are known to be cached. Before the first call, a foreign slot belongs to no partition. */
  setTokens(tokens: readonly number[]): void;
  /** Keeps the slot busy until work that cannot be cancelled is done. */
  holdUntil(work: Promise<unknown>): void;
  release(outcome: SlotOutcome): void;
};

/**
 * How the request on a slot ended: finished, aborted after its first output, or aborted before it. An aborted slot is
 * reused only after the engine reports that it is idle.
 */
export type SlotOutcome = "finished" | "aborted" | "not-started";

export type SlotRequest = {
  readonly prompt: readonly number[];
  readonly partition: string;
  readonly signal: AbortSignal;
};

const minWait = 5;
const maxWait = 100;

/** The slots of one engine, leased one per running request. */
export class ServerSlotPool {
  readonly #pool: SlotPool<ServerSlot>;
  readonly #isIdle: (id: number) => Promise<boolean>;
  #leased = 0;

  /** `isIdle` throws after the engine has exited. */
  constructor(slots: number, isIdle: (id: number) => Promise<boolean>) {
    const all = Array.from({ length: slots }, (_none, id): ServerSlot => ({ id, tokens: [] }));
    this.#pool = new SlotPool(all, { cachedTokens: ({ tokens }) => tokens, prefersNeighbours: false });
    this.#isIdle = isIdle;
  }

  /** Whether one request has the engine to itself. */
  get isAlone(): boolean {
    return this.#leased === 1 && this.#pool.waitingRequests === 0;
  }

  async acquire(request: SlotRequest): Promise<LeasedSlot> {
    const pooled = await this.#pool.acquire(request);
    if (request.signal.aborted) {
      this.#pool.release(pooled);
      throw request.signal.reason;
    }
    this.#leased += 1;
    const { resource: slot } = pooled;
    const isForeign = pooled.partition !== request.partition;
    const commonTokens = Math.max(
      0,
      Math.min(this.#pool.cachedPrefix(pooled, request), request.prompt.length - 1),
    );
    // A request that never starts leaves the previous tokens in the slot, and an aborted one leaves some of its own.
    if (isForeign) pooled.partition = undefined;
    slot.tokens = request.prompt.slice(0, commonTokens);
    let work: Promise<unknown> | undefined;
    return {
      id: slot.id,
      commonTokens,
      isForeign,
      setTokens(tokens) {
        pooled.partition = request.partition;
        slot.tokens = tokens;
      },
      holdUntil: (more) => void (work = more),
      release: (outcome) => void this.#releaseWhenIdle(pooled, outcome, work),
    };
  }

  async #releaseWhenIdle(
    pooled: Slot<ServerSlot>,
    outcome: SlotOutcome,
    work: Promise<unknown> | undefined,
  ): Promise<void> {
    try {
      // A failed step is ignored here; whether the slot is idle is checked below.
      await work?.catch(() => undefined);
      if (outcome !== "finished") await this.#waitUntilIdle(pooled.resource.id, outcome);
    } catch {
      // The engine has exited, and its slots are gone.
      return;
    } finally {
      this.#leased -= 1;
    }
    this.#pool.release(pooled);
  }

  /** A request without output must be seen idle twice in a row: it may still be in transit and about to start. */
  async #waitUntilIdle(id: number, outcome: SlotOutcome): Promise<void> {
    let missing = outcome === "not-started" ? 2 : 1;
    for (let wait = minWait; ; wait = Math.min(maxWait, wait * 1.5)) {
      missing = (await this.#isIdle(id)) ? missing - 1 : Math.max(missing, 1);
      if (missing <= 0) return;
      await sleep(wait);
    }
  }
}
