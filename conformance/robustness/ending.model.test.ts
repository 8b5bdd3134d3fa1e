import { fileURLToPath } from "node:url";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, startProcess, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createFromFile } from "../../apps/hearth/src/models/create-from-file.ts";
import { openModelStore } from "../../apps/hearth/src/models/store/model-store.ts";
import type { Protocol } from "../../apps/hearth/src/protocol.ts";
import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { findShapeFault } from "./error-shape.ts";

const program = fileURLToPath(new URL("../../apps/hearth/bin/hearth.js", import.meta.url));
const streamCount = 200;
const turn = { role: "user", content: "Tell a story" };

type Door = {
  readonly path: string;
  readonly family: Protocol["name"];
  readonly body: object;
  /** The last thing in a stream that is whole, and in one that is not. */
  readonly whole: RegExp;
  readonly failed: RegExp;
};

const doors: readonly Door[] = [
  {
    path: "/api/chat",
    family: "ollama",
    body: { messages: [turn], options: { num_predict: 200 } },
    whole: /"done":true[^\n]*\}\n$/u,
    failed: /\{"error":"[^"]+","code":"[a-z-]+"[^\n]*\}\n$/u,
  },
  {
    path: "/v1/chat/completions",
    family: "openai",
    body: { messages: [turn], stream: true, max_tokens: 200 },
    whole: /data: \[DONE\]\n\n$/u,
    failed: /data: \{"error":\{[^\n]*\}\}\n\n(?:data: \[DONE\]\n\n)?$/u,
  },
  {
    path: "/v1/responses",
    family: "openai",
    body: { input: "Tell a story", stream: true, max_output_tokens: 200 },
    whole: /event: response\.(?:completed|incomplete)\ndata: [^\n]*\n\n$/u,
    failed: /event: error\ndata: [^\n]*\n\n$/u,
  },
  {
    path: "/v1/messages",
    family: "anthropic",
    body: { messages: [turn], stream: true, max_tokens: 200 },
    whole: /event: message_stop\ndata: [^\n]*\n\n$/u,
    failed: /event: error\ndata: [^\n]*\n\n$/u,
  },
];

type Ending = "whole" | "failed" | "refused" | "cut";

async function follow(url: string, index: number): Promise<Ending> {
  const door = doors[index % doors.length];
  if (door === undefined) return "cut";
  try {
    const body = JSON.stringify({ model: "tiny", ...door.body });
    const response = await fetch(`${url}${door.path}`, { method: "POST", body });
    const text = await response.text();
    if (response.ok) return door.failed.test(text) ? "failed" : door.whole.test(text) ? "whole" : "cut";
    const contentType = response.headers.get("content-type") ?? "";
    const fault = findShapeFault(door.family, { status: response.status, contentType, body: text });
    return fault === undefined && [503, 529].includes(response.status) ? "refused" : "cut";
  } catch {
    return "cut";
  }
}

function countEndings(endings: readonly Ending[]): Readonly<Record<Ending, number>> {
  const count = (wanted: Ending): number => endings.filter((ending) => ending === wanted).length;
  return { whole: count("whole"), failed: count("failed"), refused: count("refused"), cut: count("cut") };
}

test("two hundred streams and a SIGTERM: each finishes or is told in its family's words, and the program exits with 0", {
  timeout: 180_000,
}, async () => {
  await using folder = await makeTemporaryFolder("models");
  const store = await openModelStore(folder.path, "own");
  await createFromFile([store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  const hearth = await startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", "--threads", "1", "--max-queue", "400"],
    environment: { HEARTH_MODELS: folder.path },
    isReady: (output) => output.includes("Hearth is listening on"),
    readyWithinSeconds: 60,
  });
  const url = /Hearth is listening on (\S+)/.exec(hearth.output())?.[1] ?? "";
  let ended = 0;
  const streams = Array.from({ length: streamCount }, async (_none, index) => {
    const ending = await follow(url, index);
    ended += 1;
    return ending;
  });
  // Some have finished, some run, and the others wait.
  await expect.poll(() => ended, { timeout: 60_000 }).toBeGreaterThan(0);
  process.kill(hearth.pid, "SIGTERM");
  const endings = countEndings(await Promise.all(streams));
  expect(endings.cut).toBe(0);
  expect(endings.whole).toBeGreaterThan(0);
  expect(endings.refused).toBeGreaterThan(0);
  expect(await hearth.exited).toBe(0);
  recordFigure({
    claim: "families 15",
    text: `${streamCount} streams and a SIGTERM: ${endings.whole} finished, ${endings.refused} that waited were told to come back, ${endings.cut} cut without a word, exit 0`,
    counted: { reached: streamCount - endings.cut, needed: streamCount },
  });
});

test("two hundred running streams that outlast the grace all end with their family's error event", async () => {
  await using server = await startTestServer({
    models: { tiny },
    script: function* () {
      for (;;) {
        yield { do: "write", text: "on and on " };
        yield { do: "wait", milliseconds: 50 };
      }
    },
    limits: { sequences: streamCount },
  });
  const streams = Array.from({ length: streamCount }, (_none, index) => follow(server.url, index));
  await expect.poll(() => server.scheduler.queueLengths()[0]?.leases, { timeout: 20_000 }).toBe(streamCount);
  await server.scheduler.close(0.5);
  const endings = countEndings(await Promise.all(streams));
  expect(endings).toEqual({ whole: 0, failed: streamCount, refused: 0, cut: 0 });
  recordFigure({
    claim: "families 15",
    text: `${endings.failed} of ${streamCount} running streams ended with their family's error event`,
    counted: { reached: endings.failed, needed: streamCount },
  });
});
