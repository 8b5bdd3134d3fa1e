import { setTimeout as sleep } from "node:timers/promises";
import { recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { upperBound } from "../../bench/rounds.ts";
import { workerProcesses } from "../../bench/worker-processes.ts";
import { type ClientCall, clientCalls, collect } from "./clients.ts";

const maxMilliseconds = 500;
const story = "Tell a very long story about the sea.";
const beginning = "Once upon a time there was a small boat that";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ models: { smol }, limits: { sequences: clientCalls.length } });
});
afterAll(() => server[Symbol.asyncDispose]());

test("every official client accepts an undisturbed response as complete", async () => {
  const texts = await Promise.all(clientCalls.map((call) => collect(streamStory(call, 8))));
  for (const text of texts) expect(text).not.toBe("");
});

test("if a worker dies during a response, every official client throws at once", async () => {
  const readers = clientCalls.map((call) => startReading(call));
  await Promise.all(readers.map(({ started }) => started));
  const workers = workerProcesses();
  expect(workers).toHaveLength(1);
  const killedAt = performance.now();
  for (const pid of workers) process.kill(pid, "SIGKILL");
  const outcomes = await Promise.all(readers.map(({ outcome }) => outcome));
  const delays = outcomes.map(({ endedAt }) => endedAt - killedAt);
  expect(outcomes.map(({ name, ending }) => [name, ending])).toEqual(
    clientCalls.map(({ name }) => [name, expect.stringMatching(/stopped/u)]),
  );
  const slowest = Math.max(...delays);
  recordFigure({
    claim: "families 7",
    text: `${delays.length} of ${clientCalls.length} calls of official clients threw, the slowest ${slowest.toFixed(0)} ms after their worker was killed (needed ${maxMilliseconds})`,
    counted: { reached: delays.length, needed: clientCalls.length },
  });
  expect(slowest).toBeLessThanOrEqual(upperBound(maxMilliseconds));
});

test("after its worker died, the next request loads the model again", async () => {
  for (const call of clientCalls.slice(0, 1)) expect(await collect(streamStory(call, 4))).not.toBe("");
});

type Outcome = { readonly name: string; readonly ending: string; readonly endedAt: number };

function streamStory({ stream, isPlain }: ClientCall, maxTokens: number): AsyncIterable<string> {
  return stream(server.url, { model: "smol", text: isPlain ? beginning : story, maxTokens });
}

function startReading(call: ClientCall): { started: Promise<void>; outcome: Promise<Outcome> } {
  const { name } = call;
  const started = Promise.withResolvers<void>();
  const read = async (): Promise<Outcome> => {
    try {
      for await (const chunk of streamStory(call, 900)) {
        if (chunk !== "") started.resolve();
      }
      return { name, ending: "taken for a complete response", endedAt: performance.now() };
    } catch (error) {
      return { name, ending: String(error), endedAt: performance.now() };
    }
  };
  const outcome = read();
  // If a client fails before its first chunk, its outcome shows it.
  return { started: Promise.race([started.promise, outcome.then(() => sleep(0))]), outcome };
}
