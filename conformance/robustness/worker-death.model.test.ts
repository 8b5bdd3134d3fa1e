import { setTimeout as sleep } from "node:timers/promises";
import { recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { upperBound } from "../../bench/rounds.ts";
import { workerProcesses } from "../../bench/worker-processes.ts";
import { collect, type Speaker, speakers } from "./clients.ts";

const longestMilliseconds = 500;
const story = "Tell a very long story about the sea.";
const beginning = "Once upon a time there was a small boat that";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ models: { smol }, limits: { sequences: speakers.length } });
});
afterAll(() => server[Symbol.asyncDispose]());

test("an answer that nobody disturbs is taken for a whole one by every official client", async () => {
  const texts = await Promise.all(speakers.map((speaker) => collect(tell(speaker, 8))));
  for (const text of texts) expect(text).not.toBe("");
});

test("a worker that dies in the middle of an answer makes every official client throw at once", async () => {
  const listeners = speakers.map((speaker) => listen(speaker));
  await Promise.all(listeners.map(({ begun }) => begun));
  const workers = workerProcesses();
  expect(workers).toHaveLength(1);
  const killedAt = performance.now();
  for (const pid of workers) process.kill(pid, "SIGKILL");
  const outcomes = await Promise.all(listeners.map(({ outcome }) => outcome));
  const delays = outcomes.map(({ endedAt }) => endedAt - killedAt);
  expect(outcomes.map(({ name, ending }) => [name, ending])).toEqual(
    speakers.map(({ name }) => [name, expect.stringMatching(/stopped/u)]),
  );
  const slowest = Math.max(...delays);
  recordFigure({
    claim: "families 7",
    text: `${delays.length} of ${speakers.length} calls of official clients threw, the slowest ${slowest.toFixed(0)} ms after their worker was killed (needed ${longestMilliseconds})`,
    counted: { reached: delays.length, needed: speakers.length },
  });
  expect(slowest).toBeLessThanOrEqual(upperBound(longestMilliseconds));
});

test("after the death of its worker the next request loads the model again", async () => {
  for (const speaker of speakers.slice(0, 1)) expect(await collect(tell(speaker, 4))).not.toBe("");
});

type Outcome = { readonly name: string; readonly ending: string; readonly endedAt: number };

function tell({ ask, isPlain }: Speaker, maxTokens: number): AsyncIterable<string> {
  return ask(server.url, { model: "smol", text: isPlain ? beginning : story, maxTokens });
}

function listen(speaker: Speaker): { begun: Promise<void>; outcome: Promise<Outcome> } {
  const { name } = speaker;
  const begun = Promise.withResolvers<void>();
  const hear = async (): Promise<Outcome> => {
    try {
      for await (const piece of tell(speaker, 900)) {
        if (piece !== "") begun.resolve();
      }
      return { name, ending: "taken for a whole answer", endedAt: performance.now() };
    } catch (problem) {
      return { name, ending: String(problem), endedAt: performance.now() };
    }
  };
  const outcome = hear();
  // A client that fails before its first piece is told by its outcome.
  return { begun: Promise.race([begun.promise, outcome.then(() => sleep(0))]), outcome };
}
