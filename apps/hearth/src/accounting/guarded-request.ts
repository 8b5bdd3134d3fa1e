import type { HearthDependencies, HearthRequest } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import type { KeyDirectory } from "../key-store/key-directory.ts";
import type {
  Decision,
  KeyLimits,
  KeyStore,
  LimitName,
  RequestRef,
  StoredKey,
} from "../key-store/key-store.ts";
import { waitFor } from "../key-store/stored-rows.ts";
import type { KeyedEntry, SettledUse } from "../key-store/usage-ledger.ts";
import type { HearthRoute } from "../routes.ts";
import { countsOnly, isCounted, runsModel } from "./counted-routes.ts";
import { estimateRequest, outputSlice } from "./estimate-request.ts";
import { limitHeaders, limitTexts } from "./limit-headers.ts";
import { RequestUsage } from "./request-usage.ts";
import { restrictModels, restrictRunning } from "./restrict-models.ts";

export type GuardServices = {
  readonly store: KeyStore;
  readonly keys: Pick<KeyDirectory, "get" | "onChange">;
  /** This process, whose unfinished requests are settled by others if it dies. */
  readonly node: string;
  /** Replaces the reservation of a request that has ended, in the background. */
  readonly settle: (request: RequestRef, used: SettledUse) => void;
  /** Writes the row of a request that nothing was reserved for, in the background. */
  readonly record: (keyed: KeyedEntry) => void;
  readonly onError: (error: unknown) => void;
};

type RequestServices = GuardServices & { readonly onEnd: (request: GuardedRequest) => void };

/** The request as its handler gets it: its signal aborts when the key may no longer continue it. */
type GuardedHandling = { readonly request: HearthRequest; readonly dependencies: HearthDependencies };

/** They list models that are loaded, whoever uses them. */
const pathsOfLoads: ReadonlySet<string> = new Set(["/api/ps", "/api/queue"]);

type Reservation = { readonly number: number; tokens: number };
type Reserved = Readonly<Record<"tokens" | "inputTokens", number>>;

/**
 * One request of a stored key, from its admission to its end:
 *
 *   admit --reserve--> running --grow, while tokens come--> finish --settle--> ended
 *
 * A change of the key aborts a running one that is no longer allowed. `end` settles it once, on every way out.
 */
export class GuardedRequest {
  readonly #row: HearthRoute;
  readonly #request: HearthRequest;
  readonly #services: RequestServices;
  readonly #keyId: string;
  readonly #stop = new AbortController();
  #reservation: Reservation | undefined;
  #limits: KeyLimits = {};
  readonly #usage = new RequestUsage();
  #isAdmitted = false;
  #isEnded = false;

  constructor(row: HearthRoute, request: HearthRequest, services: RequestServices) {
    this.#row = row;
    this.#request = request;
    this.#services = services;
    this.#keyId = request.actor.keyId ?? "";
  }

  /** Rejects if the key may not send this request now. */
  async admit(dependencies: HearthDependencies): Promise<GuardedHandling> {
    const key = this.#requireKey();
    this.#limits = limitsOf(key);
    if (isCounted(this.#row) && hasLimits(key)) await this.#reserve(key);
    this.#isAdmitted = true;
    return { request: this.#guardedRequest(), dependencies: await this.#restrict(key, dependencies) };
  }

  /** Rejects as soon as the key may not continue, also if the work does not stop by its signal. */
  async run<Result>(work: Promise<Result>): Promise<Result> {
    const { signal } = this.#stop;
    const stopped = Promise.withResolvers<never>();
    const stop = (): void => stopped.reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([work, stopped.promise]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Ends the request. Returns the failure that ended it if its key did, else the error itself. */
  fail(error: unknown): unknown {
    const explained = this.#explain(error);
    this.#usage.fail(explained);
    this.end();
    return explained;
  }

  /** Covers tokens that were counted at the end only. Rejects if the limit does not allow them. */
  async finish(): Promise<void> {
    this.#stop.signal.throwIfAborted();
    if (!countsOnly(this.#row)) this.#usage.addLogged();
    await this.#cover();
  }

  async *watch(chunks: AsyncIterable<string>): AsyncGenerator<string> {
    try {
      yield* chunks;
    } catch (error) {
      throw this.fail(error);
    } finally {
      this.end();
    }
  }

  /** Settles the request once, in the background. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { settle, record, onEnd } = this.#services;
    onEnd(this);
    const { signal, actor } = this.#request;
    const reserved = this.#reservation;
    const maxTokens = reserved !== undefined && needsTokens(this.#limits) ? reserved.tokens : undefined;
    const isRecorded = runsModel(this.#row);
    if (reserved !== undefined) {
      const used = isRecorded ? this.#usage.toEntry({ signal, maxTokens }) : 0;
      settle({ keyId: this.#keyId, number: reserved.number }, used);
    } else if (isRecorded && this.#isAdmitted) {
      record({ key: { id: this.#keyId, name: actor.keyName }, entry: this.#usage.toEntry({ signal }) });
    }
  }

  /** Called after a change of any key. */
  async review(): Promise<void> {
    if (this.#isEnded || this.#stop.signal.aborted) return;
    const { keys, store } = this.#services;
    const key = keys.get(this.#keyId);
    if (key === undefined) return this.#stop.abort(requestFailure({ kind: "key-invalid" }));
    if (this.#row.role === "admin" && key.role !== "admin") {
      return this.#stop.abort(requestFailure({ kind: "admin-key-required" }));
    }
    const limits = limitsOf(key);
    if (this.#reservation === undefined || JSON.stringify(limits) === JSON.stringify(this.#limits)) return;
    this.#limits = limits;
    const exceeded = await store.findExceeded({ keyId: this.#keyId, number: this.#reservation.number });
    if (exceeded === undefined) return;
    const waitMilliseconds = waitFor(exceeded, 1000, Date.now());
    this.#stop.abort(limitFailure({ limits, waitMilliseconds }, exceeded));
  }

  #explain(error: unknown): unknown {
    const { aborted, reason } = this.#stop.signal;
    return aborted ? reason : error;
  }

  #requireKey(): StoredKey {
    const key = this.#services.keys.get(this.#keyId);
    if (key === undefined) throw requestFailure({ kind: "key-invalid" });
    return key;
  }

  async #reserve(key: StoredKey): Promise<void> {
    const { tokens, inputTokens } = this.#estimate(key);
    const reservation = runsModel(this.#row) ? { tokens, inputTokens } : { tokens };
    const decision = await this.#ask((store) => store.reserve(key.id, this.#services.node, reservation));
    this.#request.addResponseHeaders(limitHeaders(this.#row.protocol.name, decision));
    if (decision.denied !== undefined) throw limitFailure(decision, decision.denied);
    this.#reservation = { number: decision.number, tokens };
  }

  /** Never more than a limit allows at all, or no request with a high maximum could ever succeed. */
  #estimate({ tokensPerMinute, tokensPerDay, tokensPerMonth }: StoredKey): Reserved {
    const limits = [tokensPerMinute, tokensPerDay, tokensPerMonth].filter((limit) => limit !== undefined);
    if (limits.length === 0 || countsOnly(this.#row)) return { tokens: 0, inputTokens: 0 };
    const { promptTokens, outputTokens } = estimateRequest(
      this.#row.body === "form" ? undefined : this.#request.body,
    );
    const tokens = Math.max(promptTokens + 1, Math.min(promptTokens + outputTokens, ...limits));
    return { tokens, inputTokens: promptTokens };
  }

  #guardedRequest(): HearthRequest {
    const request = this.#request;
    return {
      ...request,
      signal: AbortSignal.any([request.signal, this.#stop.signal]),
      // A method, which a copy of the request would not have.
      addComment: (text) => request.addComment?.(text),
      addLogFields: (fields) => {
        this.#usage.observe(fields);
        request.addLogFields(fields);
      },
      countTokens: (added) => {
        this.#usage.count(added);
        return this.#reservation === undefined || this.#usage.tokens <= this.#reservation.tokens
          ? undefined
          : this.#cover(outputSlice);
      },
    };
  }

  async #restrict({ models }: StoredKey, dependencies: HearthDependencies): Promise<HearthDependencies> {
    if (models === undefined) return dependencies;
    const restricted = await restrictModels(dependencies, models);
    return pathsOfLoads.has(this.#row.path) ? restrictRunning(restricted) : restricted;
  }

  /** Reserves the tokens that were used beyond the reservation, with some in advance if the limit allows. */
  async #cover(ahead = 0): Promise<void> {
    const reservation = this.#reservation;
    if (reservation === undefined) return;
    for (const extra of ahead === 0 ? [0] : [ahead, 0]) {
      const missing = this.#usage.tokens - reservation.tokens;
      if (missing <= 0 || !needsTokens(this.#limits)) return;
      const request = { keyId: this.#keyId, number: reservation.number };
      const decision = await this.#ask((store) => store.grow(request, missing + extra));
      if (decision.denied === undefined) reservation.tokens += missing + extra;
      else if (extra === 0) throw limitFailure(decision, decision.denied);
    }
  }

  /** Without its database a limit cannot be checked, so the request is rejected. */
  async #ask(question: (store: KeyStore) => Promise<Decision | undefined>): Promise<Decision> {
    const decision = await question(this.#services.store).catch((error: unknown) => {
      this.#services.onError(error);
      throw requestFailure({ kind: "server-busy", retryAfterSeconds: 1 }, { cause: error });
    });
    if (decision === undefined) throw requestFailure({ kind: "key-invalid" });
    return decision;
  }
}

function limitsOf(key: StoredKey): KeyLimits {
  const { requestsPerMinute, tokensPerMinute, concurrentRequests, tokensPerDay, tokensPerMonth } = key;
  return { requestsPerMinute, tokensPerMinute, concurrentRequests, tokensPerDay, tokensPerMonth };
}

function hasLimits(key: StoredKey): boolean {
  return Object.values(limitsOf(key)).some((limit) => limit !== undefined);
}

function needsTokens({ tokensPerMinute, tokensPerDay, tokensPerMonth }: KeyLimits): boolean {
  return [tokensPerMinute, tokensPerDay, tokensPerMonth].some((limit) => limit !== undefined);
}

function limitFailure(
  { limits, waitMilliseconds }: Pick<Decision, "limits" | "waitMilliseconds">,
  name: LimitName,
) {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMilliseconds / 1000));
  const maximum = limits[name] ?? 0;
  if (name === "tokensPerDay" || name === "tokensPerMonth") {
    return requestFailure({ kind: "budget-exhausted", period: limitTexts[name], maximum, retryAfterSeconds });
  }
  return requestFailure({ kind: "rate-limited", limit: limitTexts[name], maximum, retryAfterSeconds });
}
