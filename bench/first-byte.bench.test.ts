import { createFakeEngine, type FakeEngineScript, greedySampling } from "@hearth-and-keep/engine/testing";
import { hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { startTestServer, tiny } from "../apps/hearth/src/test/start-test-server.ts";
import { chatStreams } from "./chat-streams.ts";
import { type Timed, time } from "./engine-under-test.ts";
import { median, percentile, sized, upperBound } from "./rounds.ts";
import { timeStream } from "./served.ts";

const bound = 5;
/** Discarded, because code is still being compiled and the heap still grows, which can cost tens of milliseconds. */
const warmUpRounds = sized(5, 1);
const rounds = sized(5, 1);
const requestsPerRound = sized(200, 50);
const prompt = "What is 2+2?";
const script: FakeEngineScript = () => [
  { do: "write", text: "4" },
  { do: "end", reason: "stop" },
];

type Targets = { readonly atSocket: () => Promise<Timed>; readonly atPort: () => Promise<Timed> };

/** Alternates between the engine port and the socket, and returns how much longer the socket took each time. */
async function addedMilliseconds({ atSocket, atPort }: Targets): Promise<readonly number[]> {
  const added: number[] = [];
  for (let turn = 0; turn < requestsPerRound; turn += 1) {
    const port = await atPort();
    const socket = await atSocket();
    added.push(socket.firstMilliseconds - port.firstMilliseconds);
  }
  return added;
}

/** The fake engine responds immediately, so that only the overhead in front of it is measured. */
test.for(chatStreams)(
  "the first byte of a warm short chat over the $api API arrives within 5 ms of the engine port's",
  { timeout: 120_000 },
  async ({ api, path, body }) => {
    await using engine = createFakeEngine(script);
    await using server = await startTestServer({ models: { model: tiny }, script });
    const input = { type: "raw", prompt } as const;
    const targets: Targets = {
      atPort: () => time(engine, { input, sampling: greedySampling, maxTokens: 16, cachePartition: "" }),
      atSocket: () => timeStream(server.url + path, body(prompt, 16)),
    };
    for (let round = 0; round < warmUpRounds; round += 1) await addedMilliseconds(targets);
    const added: (readonly number[])[] = [];
    for (let round = 0; round < rounds; round += 1) added.push(await addedMilliseconds(targets));
    const p99 = median(added.map((round) => percentile(round, 0.99)));
    const p50 = median(added.flat());
    recordFigure({
      claim: "families 9",
      text: `${api}: ${p99.toFixed(2)} ms added at p99, median of ${rounds} rounds of ${requestsPerRound} (${p50.toFixed(2)} ms at p50), needed ${bound} or less`,
    });
    // In CI the 99th percentile of a short round is the one request that another process delayed most.
    expect(hasLooseTimingBounds ? p50 : p99).toBeLessThanOrEqual(upperBound(bound));
  },
);
