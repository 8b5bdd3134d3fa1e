import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type {
  Conversation,
  EngineFailure,
  OutputConstraint,
  TemplateCapabilities,
} from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { SpecialTokens } from "../render-chat-template.ts";
import type { TemplateTexts } from "./template-texts.ts";
import type { PreparationRequest, PreparationResponse } from "./thread-messages.ts";

export type PreparationOptions = {
  readonly templates: TemplateTexts;
  readonly specialTokens: SpecialTokens;
  /** Set only by tests of timeouts. */
  readonly maxSeconds?: number;
};

/** In a clone the thread runs TypeScript; in an installed package it is bundled next to the engine's worker. */
const program = fileURLToPath(findProgram());
const defaultSeconds = 5;
const startSeconds = 60;
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 };

function findProgram(): URL {
  if (import.meta.url.endsWith(".ts")) return new URL("./thread-main.ts", import.meta.url);
  const isInWorker = import.meta.url.includes("/engine/worker/");
  return isInWorker
    ? new URL("./preparation-thread.js", import.meta.url)
    : new URL("./engine/worker/preparation-thread.js", import.meta.url);
}

/**
 * Renders templates and builds grammars of one model outside the importer's event loop. The thread starts with the first
 * call and handles one at a time. A call that exceeds the time or memory limit terminates the thread and fails; the next
 * call starts a new thread.
 */
export class PreparationThread implements AsyncDisposable {
  readonly #options: PreparationOptions;
  #worker: Worker | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: PreparationOptions) {
    this.#options = options;
  }

  /** Starts the thread, so that the first call does not wait for it. */
  start(): void {
    void this.#enqueue({ type: "start" }).catch(() => undefined);
  }

  /** Undefined if the model has no valid template. */
  async capabilities(): Promise<
    { readonly template: TemplateCapabilities; readonly fillsIn: boolean } | undefined
  > {
    // The shape of each result is fixed by thread-main.ts.
    return (await this.#enqueue({ type: "capabilities" })) as Awaited<
      ReturnType<PreparationThread["capabilities"]>
    >;
  }

  async render(conversation: Conversation): Promise<string> {
    return String(await this.#enqueue({ type: "render", conversation }));
  }

  /** A fill-in-the-middle prompt; undefined if the template does not support it. */
  async renderInsert(texts: {
    readonly prefix: string;
    readonly suffix: string;
  }): Promise<string | undefined> {
    const { prefix, suffix } = texts;
    // As above.
    return (await this.#enqueue({ type: "insert", prefix, suffix })) as string | undefined;
  }

  async grammar(constraint: OutputConstraint): Promise<string | undefined> {
    // As above.
    return (await this.#enqueue({ type: "grammar", constraint })) as string | undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #enqueue(request: PreparationRequest): Promise<unknown> {
    const result = this.#queue.then(() => this.#perform(request));
    this.#queue = result.catch(() => undefined);
    return result;
  }

  async #perform(request: PreparationRequest): Promise<unknown> {
    const { templates, specialTokens, maxSeconds = defaultSeconds } = this.#options;
    const isNew = this.#worker === undefined;
    const worker = (this.#worker ??= new Worker(program, {
      workerData: { templates, specialTokens },
      env: {},
      execArgv: [],
      resourceLimits,
    }));
    // Starting the thread can take long on a busy machine, and does not count against the template.
    const isUp = !isNew || (await sendAndWait(worker, { type: "start" }, startSeconds)) !== undefined;
    const response = isUp ? await sendAndWait(worker, request, maxSeconds) : undefined;
    if (response === undefined) {
      this.#worker = undefined;
      await worker.terminate();
      throw new FailureError<EngineFailure>(limitExceeded(request));
    }
    if ("failure" in response) throw new FailureError<EngineFailure>(response.failure);
    if ("defect" in response)
      throw new Error(`Unexpected error in the preparation thread: ${response.defect}`);
    return response.value;
  }
}

/** Undefined if the thread exited or did not finish in time. */
function sendAndWait(
  worker: Worker,
  request: PreparationRequest,
  maxSeconds: number,
): Promise<PreparationResponse | undefined> {
  const { promise, resolve } = Promise.withResolvers<PreparationResponse | undefined>();
  const giveUp = (): void => resolve(undefined);
  const timer = setTimeout(giveUp, maxSeconds * 1000);
  worker.once("message", resolve).once("exit", giveUp).once("error", giveUp);
  worker.postMessage(request, []);
  return promise.finally(() => {
    clearTimeout(timer);
    worker.off("message", resolve).off("exit", giveUp).off("error", giveUp);
  });
}

function limitExceeded({ type }: PreparationRequest): EngineFailure {
  const reason = "it exceeds the time or memory limit";
  return type === "grammar" ? { kind: "grammar-invalid", reason } : { kind: "template-failed", reason };
}
