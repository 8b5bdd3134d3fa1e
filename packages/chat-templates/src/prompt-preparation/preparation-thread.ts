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
import type { Preparation, Prepared } from "./thread-messages.ts";

export type PreparingPlan = {
  readonly templates: TemplateTexts;
  readonly specialTokens: SpecialTokens;
  /** Told only by tests about time. */
  readonly mostSeconds?: number;
};

/** In a clone the thread runs TypeScript; in an installed program it is built beside the server. */
const program = fileURLToPath(
  import.meta.url.endsWith(".ts")
    ? new URL("./thread-main.ts", import.meta.url)
    : new URL("./engine/worker/preparing-thread.js", import.meta.url),
);
const usualSeconds = 5;
const startSeconds = 60;
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 };

/**
 * Templates and grammars of one model, beside the server's event loop. The thread starts with the first call and
 * does one at a time; a call that takes too long or too much ends the thread and fails alone, and the next one
 * starts another thread.
 */
export class PreparingThread implements AsyncDisposable {
  readonly #plan: PreparingPlan;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(plan: PreparingPlan) {
    this.#plan = plan;
  }

  /** Undefined when the model has no template that can be read. */
  async abilities(): Promise<
    { readonly template: TemplateCapabilities; readonly fillsIn: boolean } | undefined
  > {
    // Each answer's shape is fixed by the thread's messages.
    return (await this.#ask({ type: "abilities" })) as Awaited<ReturnType<PreparingThread["abilities"]>>;
  }

  async render(conversation: Conversation): Promise<string> {
    return String(await this.#ask({ type: "render", conversation }));
  }

  /** The prompt around a gap; undefined when the template has no words for it. */
  async renderInsert(texts: {
    readonly prefix: string;
    readonly suffix: string;
  }): Promise<string | undefined> {
    const { prefix, suffix } = texts;
    // As above.
    return (await this.#ask({ type: "insert", prefix, suffix })) as string | undefined;
  }

  async grammar(constraint: OutputConstraint): Promise<string | undefined> {
    // As above.
    return (await this.#ask({ type: "grammar", constraint })) as string | undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #ask(preparation: Preparation): Promise<unknown> {
    const answer = this.#last.then(() => this.#perform(preparation));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async #perform(preparation: Preparation): Promise<unknown> {
    const { templates, specialTokens, mostSeconds = usualSeconds } = this.#plan;
    const isNew = this.#worker === undefined;
    const worker = (this.#worker ??= new Worker(program, {
      workerData: { templates, specialTokens },
      env: {},
      execArgv: [],
      resourceLimits,
    }));
    // A busy machine takes its time to read our program; no template is to blame for that.
    const isUp = !isNew || (await hear(worker, { type: "start" }, startSeconds)) !== undefined;
    const prepared = isUp ? await hear(worker, preparation, mostSeconds) : undefined;
    if (prepared === undefined) {
      this.#worker = undefined;
      await worker.terminate();
      throw new FailureError<EngineFailure>(overdone(preparation));
    }
    if ("failure" in prepared) throw new FailureError<EngineFailure>(prepared.failure);
    if ("defect" in prepared) throw new Error(`Cannot finish in the preparing thread: ${prepared.defect}`);
    return prepared.value;
  }
}

/** Undefined when the thread ended, or was still at it when its time was over. */
function hear(worker: Worker, preparation: Preparation, mostSeconds: number): Promise<Prepared | undefined> {
  const { promise, resolve } = Promise.withResolvers<Prepared | undefined>();
  const giveUp = (): void => resolve(undefined);
  const timer = setTimeout(giveUp, mostSeconds * 1000);
  worker.once("message", resolve).once("exit", giveUp).once("error", giveUp);
  worker.postMessage(preparation, []);
  return promise.finally(() => {
    clearTimeout(timer);
    worker.off("message", resolve).off("exit", giveUp).off("error", giveUp);
  });
}

function overdone({ type }: Preparation): EngineFailure {
  const reason = "it takes too much time or memory";
  return type === "grammar" ? { kind: "grammar-invalid", reason } : { kind: "template-failed", reason };
}
