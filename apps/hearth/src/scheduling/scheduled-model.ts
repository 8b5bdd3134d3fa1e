import type { EngineDriver, LoadPlan } from "@hearth-and-keep/engine";
import type { SchedulingEvent } from "./events.ts";
import { Hosting, type HostingEnd } from "./hosting.ts";
import { ExpiryTimer, expiryOf, isForever, type KeepAlive } from "./keep-alive.ts";
import { type Lease, leastContextOf, type ModelWish } from "./load-request.ts";
import type { LoadShape, Resident } from "./memory-budget.ts";
import { WaitingLine } from "./request-queue.ts";

export type LoadSettings = Pick<
  LoadPlan,
  "gpuLayers" | "cacheType" | "flashAttention" | "memoryMap" | "threads"
>;

export type ScheduledModelParts = {
  readonly driver: EngineDriver;
  readonly loadSettings: LoadSettings;
  readonly keepAlive: KeepAlive;
  readonly onEvent: (event: SchedulingEvent) => void;
  /** Something happened that may let somebody else have a turn. */
  readonly onChange: () => void;
};

/** One model for one purpose: who waits for it, and its load if it has one. Loads are one at a time. */
export class ScheduledModel {
  readonly key: string;
  readonly purpose: LoadPlan["purpose"];
  readonly line = new WaitingLine<ModelWish, Lease>();
  readonly #parts: ScheduledModelParts;
  readonly #timer = new ExpiryTimer();
  #hosting: Hosting | undefined;
  #keepAlive: KeepAlive;
  #meanLeaseMilliseconds = 0;

  constructor({ key, purpose }: ModelWish, parts: ScheduledModelParts) {
    this.key = key;
    this.purpose = purpose;
    this.#parts = parts;
    this.#keepAlive = parts.keepAlive;
  }

  get hosting(): Hosting | undefined {
    return this.#hosting;
  }

  get meanLeaseMilliseconds(): number {
    return this.#meanLeaseMilliseconds;
  }

  /** How many of the line wait beyond the places that are free or being loaded for them. */
  get waiting(): number {
    const hosting = this.#hosting;
    const places = hosting === undefined || hosting.closing !== undefined ? 0 : hosting.freePlaces;
    return Math.max(0, this.line.length - places);
  }

  /** On the monotonic clock; while it is in use, as if its last lease ended now. */
  get expiresAt(): number {
    const hosting = this.#hosting;
    const isIdle = hosting !== undefined && hosting.leases === 0 && this.line.length === 0;
    return expiryOf(this.#keepAlive, isIdle ? hosting.usedAt : performance.now());
  }

  /** As the memory budget sees it; undefined when it takes none. */
  get resident(): Resident | undefined {
    if (this.#hosting === undefined) return undefined;
    const { memoryBytes, usedAt, stage, leases } = this.#hosting;
    const isIdle = stage.type === "serving" && leases === 0 && this.line.length === 0;
    const standing = stage.type === "leaving" ? "leaving" : isIdle ? "idle" : "busy";
    return { memoryBytes, usedAt, standing, isPinned: isForever(this.#keepAlive) };
  }

  canServe(wish: ModelWish): boolean {
    return this.#hosting !== undefined && leastContextOf(wish) <= this.#hosting.plan.contextTokens;
  }

  load(wish: ModelWish, shape: LoadShape, memoryBytes: number): void {
    const { modelPath, remote, adapters, projectorPath, goTemplate } = wish;
    const { driver, loadSettings, onChange } = this.#parts;
    const files = {
      modelPath,
      ...(remote && { remote }),
      ...(adapters && { adapters }),
      ...(projectorPath && { projectorPath }),
      ...(goTemplate && { goTemplate }),
    };
    this.#hosting = new Hosting({
      driver,
      plan: { ...loadSettings, ...files, ...shape, purpose: this.purpose },
      memoryBytes,
      onLoaded: (hosting) => this.#announce(hosting),
      onPlaces: onChange,
      onReturned: (leaseMilliseconds) => {
        const mean = this.#meanLeaseMilliseconds;
        this.#meanLeaseMilliseconds = mean === 0 ? leaseMilliseconds : 0.8 * mean + 0.2 * leaseMilliseconds;
        onChange();
      },
      onGone: (end) => this.#clear(end),
    });
  }

  /** Hands out what can be handed out, and lets the load go when its time has come. */
  serve(): void {
    const hosting = this.#hosting;
    if (hosting === undefined) return;
    if (hosting.stage.type === "loading" && this.line.length === 0) hosting.leave("expired");
    if (hosting.stage.type !== "serving") return;
    const { engine } = hosting.stage;
    let { head } = this.line;
    while (head !== undefined && hosting.freePlaces > 0 && this.#isServed(head.ticket, head.wish)) {
      this.#keepAlive = head.wish.keepAlive ?? this.#keepAlive;
      head.give(hosting.lend(head, engine));
      head = this.line.head;
    }
    this.#timer.stop();
    if (hosting.leases > 0) return;
    if (hosting.closing !== undefined) hosting.leave(hosting.closing.reason);
    else if (head !== undefined) hosting.leave("outgrown");
    else if (this.expiresAt <= performance.now()) hosting.leave("expired");
    else this.#timer.start(this.expiresAt, this.#parts.onChange);
  }

  #isServed(ticket: number, wish: ModelWish): boolean {
    return this.#hosting?.isOpenTo(ticket) === true && this.canServe(wish);
  }

  #announce({ plan, memoryBytes, loadMilliseconds }: Hosting): void {
    const { contextTokens, sequences } = plan;
    const figures = { contextTokens, sequences, memoryBytes, loadMilliseconds };
    this.#parts.onEvent({ type: "model-loaded", key: this.key, purpose: this.purpose, ...figures });
    this.#parts.onChange();
  }

  /** A failed load fails everyone who waited for it; any other end leaves them waiting for the next load. */
  #clear(end: HostingEnd): void {
    this.#timer.stop();
    this.#hosting = undefined;
    this.#parts.onEvent({ key: this.key, purpose: this.purpose, ...end });
    if (end.type === "load-failed") this.line.refuseAll(end.problem);
    this.#parts.onChange();
  }
}
