import { fstatSync, ftruncateSync, writeSync } from "node:fs";
import type { LoadPlan } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import type { FromWorker, PromptCacheRequest, ToWorker } from "../channel/messages.ts";
import { openPromptExchange, type PromptStore } from "./prompt-exchange.ts";

const plan: LoadPlan = {
  modelPath: "/models/sha256-model",
  contextTokens: 2048,
  sequences: 1,
  purpose: "generate",
};
const tokens = Array.from({ length: 1000 }, (_none, index) => index);

/** A worker's end of an exchange, with a store that has one state for everyone. */
class Conversation {
  readonly calls: string[] = [];
  readonly replies: number[] = [];
  readonly #exchange: Awaited<ReturnType<typeof openPromptExchange>>;

  private constructor(exchange: Awaited<ReturnType<typeof openPromptExchange>>, calls: string[]) {
    this.#exchange = exchange;
    this.calls = calls;
  }

  static async open(changes: Partial<LoadPlan> = {}): Promise<Conversation> {
    const calls: string[] = [];
    const store: PromptStore = {
      maxStateBytes: 1_000_000,
      find({ partition }, { file }) {
        calls.push(`find ${partition}`);
        writeSync(file, "state", 0);
        return Promise.resolve({ bytes: 5, discard: () => Promise.resolve(void calls.push("discard")) });
      },
      keep({ partition }, { bytes }) {
        calls.push(`keep ${partition} ${bytes}`);
        return Promise.resolve();
      },
    };
    return new Conversation(
      await openPromptExchange({ ...plan, ...changes }, { store, buildFolder: undefined }),
      calls,
    );
  }

  get isOpen(): boolean {
    return this.#exchange !== undefined;
  }

  get fileBytes(): number {
    return fstatSync(this.#exchange?.file.descriptor ?? -1).size;
  }

  /** A request of a client. */
  serve(cachePartition: string): void {
    const input = { type: "raw", prompt: "" } as const;
    const request = { input, sampling: greedySampling, maxTokens: 1, cachePartition };
    this.#exchange?.sent({ type: "generate", id: 1, request });
  }

  /** Resolves when the exchange has handled it. */
  async send(request: PromptCacheRequest): Promise<void> {
    this.receive({ type: "prompt-cache", request });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }

  receive(message: FromWorker): void {
    const reply = (sent: ToWorker) => void this.replies.push(sent.type === "prompt-state" ? sent.bytes : -1);
    this.#exchange?.received(message, reply);
  }

  offer(bytes: number, partition = "alice"): Promise<void> {
    const { descriptor = -1 } = this.#exchange?.file ?? {};
    ftruncateSync(descriptor, 0);
    writeSync(descriptor, "\0".repeat(Math.min(bytes, 2_000_000)), 0);
    return this.send({ kind: "keep", partition, tokens, bytes });
  }

  async stop(wasStopped: boolean): Promise<void> {
    this.#exchange?.stop({ wasStopped });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const find = { kind: "find", partition: "alice", prompt: tokens, cachedTokens: 0 } as const;

test("a worker can name only clients whose requests it was sent", async () => {
  const worker = await Conversation.open();
  await worker.send(find);
  await worker.offer(1000);
  expect([worker.calls, worker.replies]).toEqual([[], [0, 0]]);
  worker.serve("alice");
  await worker.send(find);
  await worker.send({ kind: "restored", isUsable: true });
  await worker.offer(1000);
  await worker.offer(1000, "bob");
  expect([worker.calls, worker.replies]).toEqual([
    ["find alice", "keep alice 1000"],
    [0, 0, 5, 0, 0],
  ]);
  expect(worker.fileBytes).toBe(0);
  await worker.stop(true);
});

test("a state that the worker reports as unusable, or does not survive, is discarded", async () => {
  const worker = await Conversation.open();
  worker.serve("alice");
  await worker.send(find);
  await worker.send({ kind: "restored", isUsable: false });
  expect(worker.calls).toEqual(["find alice", "discard"]);
  await worker.send(find);
  await worker.stop(false);
  expect(worker.calls).toEqual(["find alice", "discard", "find alice", "discard"]);
});

test("a worker that is stopped while it restores a state does not cost that state", async () => {
  const worker = await Conversation.open();
  worker.serve("alice");
  await worker.send(find);
  await worker.stop(true);
  expect(worker.calls).toEqual(["find alice"]);
});

test("a state of another size than announced, or above the limit, is not kept", async () => {
  const worker = await Conversation.open();
  worker.serve("alice");
  await worker.offer(1_000_001);
  await worker.offer(3_000_000);
  expect(worker.calls).toEqual([]);
  await worker.stop(true);
});

test("a state is kept only if restoring it is faster than evaluating its prompt", async () => {
  const worker = await Conversation.open();
  worker.serve("alice");
  await worker.offer(900_000);
  expect(worker.calls).toEqual(["keep alice 900000"]);
  const usage = { promptTokens: 1000, cachedTokens: 0, outputTokens: 1 };
  const timings = { promptMilliseconds: 1, outputMilliseconds: 1 };
  const end = { type: "generation-end", reason: "stop", usage, timings } as const;
  for (let count = 0; count < 10; count += 1) worker.receive({ type: "events", id: 1, events: [end] });
  await worker.offer(900_000);
  expect(worker.calls).toEqual(["keep alice 900000"]);
  await worker.stop(true);
});

test("requests that come too early are ignored", async () => {
  const worker = await Conversation.open();
  worker.serve("alice");
  for (let count = 0; count < 5; count += 1) worker.receive({ type: "prompt-cache", request: find });
  await worker.send({ kind: "restored", isUsable: true });
  expect(worker.calls).toEqual(["find alice"]);
  await worker.stop(true);
});

test("a model that only embeds has no prompt cache", async () => {
  expect((await Conversation.open({ purpose: "embed" })).isOpen).toBe(false);
});
