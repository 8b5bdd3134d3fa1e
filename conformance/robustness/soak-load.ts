import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { smol, tiny } from "../../apps/hearth/src/test/start-test-server.ts";

const seed = 20;
/** Fewer than slots and queue can hold, so that no request is rejected. */
const maxOutstanding = 24;

/** `tiny` stays loaded, and its first tokens are timed; the other two are loaded and unloaded. */
export const models = { tiny, spare: { ...tiny, extras: { template: "{{ .Prompt }}" } }, smol };
type ModelName = keyof typeof models;

type Endpoint = {
  readonly path: string;
  readonly write: (text: string, maxTokens: number) => object;
  /** The end of a complete stream. */
  readonly end: RegExp;
};

const turnOf = (content: string) => [{ role: "user", content }];
const endpoints: readonly Endpoint[] = [
  {
    path: "/api/generate",
    write: (prompt, tokens) => ({ prompt, options: { num_predict: tokens, temperature: 0 } }),
    end: /"done":true[^\n]*\}\n$/u,
  },
  {
    path: "/api/chat",
    write: (text, tokens) => ({ messages: turnOf(text), options: { num_predict: tokens, temperature: 0 } }),
    end: /"done":true[^\n]*\}\n$/u,
  },
  {
    path: "/v1/chat/completions",
    write: (text, tokens) => ({ messages: turnOf(text), max_tokens: tokens, temperature: 0, stream: true }),
    end: /data: \[DONE\]\n\n$/u,
  },
  {
    path: "/v1/messages",
    write: (text, tokens) => ({ messages: turnOf(text), max_tokens: tokens, temperature: 0, stream: true }),
    end: /event: message_stop\ndata: [^\n]*\n\n$/u,
  },
];

type Step = {
  readonly endpoint: Endpoint;
  readonly model: ModelName;
  readonly text: string;
  readonly maxTokens: number;
  /** The client hangs up after so many chunks; 0 at once. */
  readonly abortAfterChunks: number | null;
  /** Before the request, this model is unloaded. */
  readonly unloads: ModelName | null;
  /** The time to the next request, as a multiple of the mean: an exponential distribution. */
  readonly gap: number;
};

const weighted = <Value>(...entries: readonly (readonly [weight: number, value: Value])[]) =>
  fc.oneof(...entries.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));

const steps: readonly Step[] = fc.sample(
  fc.noBias(
    fc.record({
      endpoint: fc.constantFrom(...endpoints),
      model: weighted<ModelName>([8, "tiny"], [2, "spare"], [1, "smol"]),
      text: fc.integer({ min: 1, max: 1000 }).map((number) => `Tell a story about ${number} stones.`),
      maxTokens: fc.integer({ min: 8, max: 32 }),
      abortAfterChunks: weighted<number | null>([80, null], [5, 0], [5, 1], [5, 3], [5, 8]),
      unloads: weighted<ModelName | null>([98, null], [1, "spare"], [1, "smol"]),
      gap: fc.integer({ min: 1, max: 1000 }).map((number) => -Math.log(number / 1000.5)),
    }),
  ),
  { seed, numRuns: 5000 },
);

export type Outcome = {
  readonly model: ModelName;
  readonly ending: "complete" | "aborted" | "busy" | "failed";
  readonly detail: string;
  /** When it was sent, and how long the first bytes of its response took. */
  readonly sentAt: number;
  readonly firstMilliseconds: number;
};

type StreamResult = Pick<Outcome, "ending" | "detail"> & { readonly firstAt: number };

/** Sends requests and counts their outcomes. */
export class Load {
  readonly outcomes: Outcome[] = [];
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #running = new Set<Promise<void>>();
  #next = 0;

  constructor(url: string) {
    this.#url = url;
  }

  /** As many requests at once as the server processes, each right after the one before; returns requests per second. */
  async measureCapacity(seconds: number): Promise<number> {
    const endsAt = performance.now() + seconds * 1000;
    const before = this.outcomes.length;
    const work = async (): Promise<void> => {
      while (performance.now() < endsAt) await this.#perform(this.#takeStep());
    };
    await Promise.all(Array.from({ length: 8 }, work));
    return (this.outcomes.length - before) / seconds;
  }

  /** Requests arrive at random times at this rate, whether or not earlier ones have finished. */
  async run(seconds: number, perSecond: number): Promise<void> {
    const endsAt = performance.now() + seconds * 1000;
    let dueAt = performance.now();
    while (performance.now() < endsAt) {
      const step = this.#takeStep();
      // After a pause, e.g. of the machine, requests do not arrive all at once.
      dueAt = Math.max(dueAt + (step.gap * 1000) / perSecond, performance.now() - 1000);
      if (dueAt > performance.now()) await sleep(dueAt - performance.now());
      if (this.#running.size >= maxOutstanding) await Promise.race(this.#running);
      this.#start(this.#perform(step));
    }
    await Promise.all(this.#running);
  }

  async loadAll(): Promise<void> {
    for (const model of Object.keys(models)) await this.#post({ model });
  }

  closeConnections(): void {
    this.#agent.destroy();
  }

  #takeStep(): Step {
    const step = steps[this.#next % steps.length];
    this.#next += 1;
    if (step === undefined) throw new Error("there are no steps");
    return step;
  }

  #start(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #perform(step: Step): Promise<void> {
    const unloaded = step.unloads === null ? undefined : this.#post({ model: step.unloads, keep_alive: 0 });
    await Promise.all([unloaded, this.#send(step)]);
  }

  async #post(body: object): Promise<void> {
    const response = await this.#open("/api/generate", body);
    await response.toArray();
  }

  async #send(step: Step): Promise<void> {
    const sentAt = performance.now();
    const abort = new AbortController();
    const result = await this.#stream(step, abort).catch((error: unknown): StreamResult => {
      return {
        ending: abort.signal.aborted ? "aborted" : "failed",
        detail: String(error),
        firstAt: Number.NaN,
      };
    });
    const { firstAt, ...rest } = result;
    this.outcomes.push({ model: step.model, sentAt, firstMilliseconds: firstAt - sentAt, ...rest });
  }

  async #stream(step: Step, abort: AbortController): Promise<StreamResult> {
    const { endpoint, model, abortAfterChunks } = step;
    if (abortAfterChunks === 0) setTimeout(() => abort.abort(), 5);
    const body = { model, ...endpoint.write(step.text, step.maxTokens) };
    const response = await this.#open(endpoint.path, body, abort.signal);
    let firstAt = Number.NaN;
    let text = "";
    let chunks = 0;
    for await (const chunk of response) {
      if (chunks === 0) firstAt = performance.now();
      text += String(chunk);
      chunks += 1;
      // Leaving the loop closes the connection.
      if (chunks === abortAfterChunks) return { ending: "aborted", detail: "", firstAt };
    }
    return {
      ending: endingOf(endpoint, response, text),
      detail: `${response.statusCode} ${text.slice(-200)}`,
      firstAt,
    };
  }

  #open(path: string, body: object, signal?: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const options = { method: "POST", agent: this.#agent, ...(signal === undefined ? {} : { signal }) };
    request(`${this.#url}${path}`, options)
      .on("response", resolve)
      .on("error", reject)
      .end(JSON.stringify(body));
    return promise;
  }
}

function endingOf({ end }: Endpoint, { statusCode = 0 }: IncomingMessage, text: string): Outcome["ending"] {
  if (statusCode === 200 && end.test(text)) return "complete";
  return [503, 529].includes(statusCode) ? "busy" : "failed";
}
