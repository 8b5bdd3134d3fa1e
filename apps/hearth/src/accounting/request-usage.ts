import type { LogFields } from "@hearth-and-keep/http-service";
import { isClientDisconnect, toRequestFailure } from "../failures.ts";
import type { TokenCounts } from "../generation/run-generation.ts";
import type { UsageEntry, UsageLocation } from "../key-store/usage-ledger.ts";

const maxTextLength = 256;
const locations: readonly unknown[] = ["local", "pool", "remote"] satisfies readonly UsageLocation[];

/** What one request uses, collected from its counted tokens and the fields of its log line while it runs. */
export class RequestUsage {
  readonly #startedAt = performance.now();
  #counts: TokenCounts = { promptTokens: 0, cachedTokens: 0, outputTokens: 0 };
  #fields: LogFields = {};
  #failure: string | undefined;

  get tokens(): number {
    return this.#counts.promptTokens + this.#counts.outputTokens;
  }

  count(added: TokenCounts): void {
    const { promptTokens, cachedTokens, outputTokens } = this.#counts;
    this.#counts = {
      promptTokens: promptTokens + added.promptTokens,
      cachedTokens: cachedTokens + added.cachedTokens,
      outputTokens: outputTokens + added.outputTokens,
    };
  }

  observe(fields: LogFields): void {
    this.#fields = { ...this.#fields, ...fields };
  }

  /** Work that counts its tokens at the end only logs them. */
  addLogged(): void {
    const logged: TokenCounts = {
      promptTokens: this.#number("promptTokens") ?? 0,
      cachedTokens: this.#number("cachedTokens") ?? 0,
      outputTokens: this.#number("outputTokens") ?? 0,
    };
    if (logged.promptTokens + logged.outputTokens > this.tokens) this.#counts = logged;
  }

  fail(error: unknown): void {
    this.#failure ??= isClientDisconnect(error) ? "client-disconnected" : toRequestFailure(error).kind;
  }

  /** Of a request that has ended. What was counted last was not delivered if it is more than what was reserved. */
  toEntry({ signal, maxTokens = Number.POSITIVE_INFINITY }: EndedRequest): UsageEntry {
    const stopReason = this.#text("stopReason");
    const hasLeft = stopReason === undefined && signal.aborted;
    const { promptTokens, cachedTokens, outputTokens } = this.#counts;
    const inputTokens = Math.min(promptTokens, maxTokens);
    // A name that was not found is the client's.
    const location = this.#fields["runsOn"];
    const isKnown = isLocation(location);
    return {
      model: isKnown ? (this.#text("model") ?? "") : "",
      engine: this.#text("engine") ?? "",
      location: isKnown ? location : "",
      address: this.#text("engineAddress"),
      inputTokens,
      cachedTokens: Math.min(cachedTokens, inputTokens),
      outputTokens: Math.min(outputTokens, maxTokens - inputTokens),
      queueMilliseconds: this.#milliseconds("queueMilliseconds"),
      loadMilliseconds: this.#milliseconds("loadMilliseconds"),
      firstTokenMilliseconds: this.#milliseconds("firstTokenMilliseconds"),
      totalMilliseconds: Math.round(performance.now() - this.#startedAt),
      stopReason,
      failure: this.#failure ?? this.#text("failure") ?? (hasLeft ? "client-disconnected" : undefined),
    };
  }

  #number(name: string): number | undefined {
    const value = this.#fields[name];
    return typeof value === "number" ? value : undefined;
  }

  #milliseconds(name: string): number | undefined {
    const value = this.#number(name);
    return value === undefined ? undefined : Math.max(0, Math.round(value));
  }

  #text(name: string): string | undefined {
    const value = this.#fields[name];
    return typeof value === "string" && value !== "" ? toStoredText(value) : undefined;
  }
}

export type EndedRequest = { readonly signal: AbortSignal; readonly maxTokens?: number | undefined };

/** Neither database accepts every character of a string. */
export function toStoredText(text: string): string {
  return text.slice(0, maxTextLength).toWellFormed().replaceAll("\0", "");
}

function isLocation(value: unknown): value is Exclude<UsageLocation, ""> {
  return locations.includes(value);
}
