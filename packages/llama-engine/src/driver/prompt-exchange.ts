import { createHash } from "node:crypto";
import { fstat, ftruncate } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";
import type { LoadPlan } from "@hearth-and-keep/engine";
import { createSharedFile, listModelFiles, type SharedFile } from "@hearth-and-keep/engine-host";
import manifest from "../../package.json" with { type: "json" };
import type { FromWorker, PromptCacheRequest, ToWorker } from "../channel/messages.ts";

/** Whose state it is. No other partition, and no other model, engine or context, can find it. */
export type StateOwner = { readonly partition: string; readonly model: string };

export type StateQuery = {
  readonly prompt: readonly number[];
  /** How much of the prompt is in the sequence already. */
  readonly cachedTokens: number;
  /** The descriptor to write the state to. */
  readonly file: number;
};

export type FoundState = {
  readonly bytes: number;
  /** Deletes it, because the engine cannot use it. */
  discard(): Promise<void>;
};

/** A state in the file, and the tokens that it was computed from. */
export type OfferedState = {
  readonly tokens: readonly number[];
  readonly bytes: number;
  readonly file: number;
};

/** Where states of prompts outlive the process that computed them. */
export type PromptStore = {
  readonly maxStateBytes: number;
  /** Writes the state with the longest prefix of the prompt to the file, if it saves enough. */
  find(owner: StateOwner, query: StateQuery): Promise<FoundState | undefined>;
  keep(owner: StateOwner, state: OfferedState): Promise<void>;
};

type ExchangeOptions = {
  readonly store: PromptStore;
  /** A build of the binding made on this machine. */
  readonly buildFolder: string | undefined;
};

/** Undefined for a model that does not generate, and on systems without shared files. */
export async function openPromptExchange(
  plan: LoadPlan,
  { store, buildFolder }: ExchangeOptions,
): Promise<PromptExchange | undefined> {
  if (plan.purpose !== "generate") return undefined;
  const model = await identifyState(plan, buildFolder);
  const file = await createSharedFile(store.maxStateBytes);
  return file === undefined ? undefined : new PromptExchange({ store, model, file });
}

/** Assumed until the first measurement: slow for a processor, and slow for a disk. */
const defaultSpeeds = { tokensPerMillisecond: 1, bytesPerMillisecond: 200_000 };
/** Fewer tokens say little about the speed. */
const minMeasuredTokens = 64;
/** Restoring must be faster than evaluating by this factor, because the state also takes space and time to write. */
const minGain = 2;

const setSize = promisify(ftruncate);
const readStatus = promisify(fstat);

/**
 * The server's side of one worker's prompt cache. The worker never sees a key or a path: it reads and writes one file
 * in memory. It can name only partitions whose requests it was sent, so it learns nothing about other clients.
 */
export class PromptExchange {
  readonly file: SharedFile;
  readonly #store: PromptStore;
  readonly #model: string;
  readonly #partitions = new Set<string>();
  readonly #speeds = { ...defaultSpeeds };
  #work: Promise<void> = Promise.resolve();
  #isBusy = false;
  #restoring: FoundState | undefined;

  constructor({
    store,
    model,
    file,
  }: {
    readonly store: PromptStore;
    readonly model: string;
    readonly file: SharedFile;
  }) {
    this.#store = store;
    this.#model = model;
    this.file = file;
  }

  /** Call this with every message to the worker. */
  sent(message: ToWorker): void {
    if (message.type === "generate") this.#partitions.add(message.request.cachePartition);
  }

  /** Call this with every message from the worker. */
  received(message: FromWorker, send: (message: ToWorker) => void): void {
    if (message.type === "events") this.#measure(message);
    // A worker that sends the next request too early is not ours; it gets no response.
    if (message.type !== "prompt-cache" || this.#isBusy) return;
    this.#isBusy = true;
    this.#work = this.#respond(message.request, send);
  }

  /** A state that the worker has not confirmed may be what ended it, unless it was stopped: it is not tried again. */
  stop({ wasStopped }: { readonly wasStopped: boolean }): void {
    const suspect = wasStopped ? undefined : this.#restoring;
    void this.#work
      .then(() => suspect?.discard())
      .catch(() => undefined)
      // Not earlier: the descriptor could become that of another file while a state is being written.
      .finally(() => this.file[Symbol.dispose]());
  }

  async #respond(request: PromptCacheRequest, send: (message: ToWorker) => void): Promise<void> {
    // If anything fails, the prompt is evaluated.
    const bytes = await this.#handle(request).catch(() => 0);
    this.#isBusy = false;
    if (request.kind !== "restored") send({ type: "prompt-state", bytes });
  }

  async #handle(request: PromptCacheRequest): Promise<number> {
    switch (request.kind) {
      case "find":
        return this.#find(request);
      case "restored": {
        const restored = this.#restoring;
        this.#restoring = undefined;
        await setSize(this.file.descriptor, 0);
        if (!request.isUsable) await restored?.discard();
        return 0;
      }
      case "keep":
        try {
          await this.#keep(request);
        } finally {
          await setSize(this.file.descriptor, 0);
        }
        return 0;
    }
  }

  async #find({
    partition,
    prompt,
    cachedTokens,
  }: Extract<PromptCacheRequest, { kind: "find" }>): Promise<number> {
    if (!this.#partitions.has(partition)) return 0;
    const startedAt = performance.now();
    const { descriptor } = this.file;
    const owner = { partition, model: this.#model };
    const found = await this.#store.find(owner, { prompt, cachedTokens, file: descriptor });
    this.#restoring = found;
    if (found === undefined) return 0;
    const milliseconds = Math.max(1, performance.now() - startedAt);
    this.#speeds.bytesPerMillisecond = average(this.#speeds.bytesPerMillisecond, found.bytes / milliseconds);
    return found.bytes;
  }

  async #keep({ partition, tokens, bytes }: Extract<PromptCacheRequest, { kind: "keep" }>): Promise<void> {
    const { descriptor, maxBytes } = this.file;
    const { tokensPerMillisecond, bytesPerMillisecond } = this.#speeds;
    const isWorthIt = minGain * (bytes / bytesPerMillisecond) < tokens.length / tokensPerMillisecond;
    if (!this.#partitions.has(partition) || bytes > maxBytes || !isWorthIt) return;
    if ((await readStatus(descriptor)).size !== bytes) return;
    await this.#store.keep({ partition, model: this.#model }, { tokens, bytes, file: descriptor });
  }

  #measure({ events }: Extract<FromWorker, { type: "events" }>): void {
    for (const event of events) {
      if (event.type !== "generation-end") continue;
      const { usage, timings } = event;
      const evaluated = usage.promptTokens - usage.cachedTokens;
      if (evaluated < minMeasuredTokens) continue;
      const speed = evaluated / Math.max(1, timings.promptMilliseconds);
      this.#speeds.tokensPerMillisecond = average(this.#speeds.tokensPerMillisecond, speed);
    }
  }
}

function average(before: number, measured: number): number {
  return 0.5 * before + 0.5 * measured;
}

/** The name of a blob is the digest of its content. */
const digestName = /^sha256-[0-9a-f]{64}$/u;

/**
 * A digest over everything that a state depends on: the engine, the files of the model, and the settings of its context.
 * Rotary positions of some models depend on the size of the context.
 */
async function identifyState(plan: LoadPlan, buildFolder: string | undefined): Promise<string> {
  const { contextTokens, cacheType, flashAttention, gpuLayers, adapters = [] } = plan;
  const { "node-llama-cpp": bindingVersion } = manifest.dependencies;
  const files = await Promise.all(listModelFiles(plan).map(identifyFile));
  const scales = adapters.map(({ scale }) => scale);
  const engine = [bindingVersion, buildFolder ?? null, process.arch];
  const settings = [contextTokens, cacheType ?? null, flashAttention ?? null, gpuLayers ?? null];
  return createHash("sha256")
    .update(JSON.stringify([engine, files, scales, settings]))
    .digest("hex");
}

async function identifyFile(path: string): Promise<string> {
  if (digestName.test(basename(path))) return basename(path);
  const status = await stat(path).catch(() => undefined);
  return `${path} ${status?.size} ${status?.mtimeMs}`;
}
