import { sharedFileDescriptor } from "@hearth-and-keep/engine-host";
import type { PromptCacheRequest } from "../channel/messages.ts";

/** The binding opens files by path; the sandbox shows this process no folder that it could write to. */
const sharedPath = `/proc/self/fd/${sharedFileDescriptor}`;

export type PromptQuery = Omit<Extract<PromptCacheRequest, { kind: "find" }>, "kind">;

export type KeptPrompt = Omit<Extract<PromptCacheRequest, { kind: "keep" }>, "kind">;

/**
 * Exchanges the states of prompts with the server through the shared file, one at a time. The server alone decides what
 * is kept, and which client it belongs to.
 */
export class PromptStates {
  readonly #send: (request: PromptCacheRequest) => void;
  #turn: Promise<unknown> = Promise.resolve();
  #onReply: ((bytes: number) => void) | undefined;

  constructor(send: (request: PromptCacheRequest) => void) {
    this.#send = send;
    // Without a handler, a state that exceeds the limit of the file would end this process instead of failing.
    process.on("SIGXFSZ", () => undefined);
  }

  /** The server's response to the current request. */
  receive(bytes: number): void {
    this.#onReply?.(bytes);
  }

  /** Calls `load` with the path of a state if the server has one that is worth it. */
  restore(query: PromptQuery, load: (path: string) => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      if ((await this.#request({ kind: "find", ...query })) === 0) return;
      let isUsable = false;
      try {
        await load(sharedPath);
        isUsable = true;
      } catch {
        // The prompt is evaluated instead.
      }
      this.#send({ kind: "restored", isUsable });
    });
  }

  /** Offers the server the state that `save` writes to the path it is called with, if it writes one. */
  keep(save: (path: string) => Promise<KeptPrompt | undefined>): Promise<void> {
    return this.#inTurn(async () => {
      const prompt = await save(sharedPath);
      if (prompt !== undefined) await this.#request({ kind: "keep", ...prompt });
    });
  }

  #request(request: PromptCacheRequest): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#onReply = resolve;
    this.#send(request);
    return promise;
  }

  #inTurn(exchange: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(exchange);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}
