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

type Endpoint = {
  readonly path: string;
  readonly protocol: Protocol["name"];
  readonly body: object;
  /** The end of a complete stream, and of a failed one. */
  readonly complete: RegExp;
  readonly failed: RegExp;
};

const endpoints: readonly Endpoint[] = [
  {
    path: "/api/chat",
    protocol: "ollama",
    body: { messages: [turn], options: { num_predict: 200 } },
    complete: /"done":true[^\n]*\}\n$/u,
    failed: /\{"error":"[^"]+","code":"[a-z-]+"[^\n]*\}\n$/u,
  },
  {
    path: "/v1/chat/completions",
    protocol: "openai",
    body: { messages: [turn], stream: true, max_tokens: 200 },
    complete: /data: \[DONE\]\n\n$/u,
    failed: /data: \{"error":\{[^\n]*\}\}\n\n(?:data: \[DONE\]\n\n)?$/u,
  },
  {
    path: "/v1/responses",
    protocol: "openai",
    body: { input: "Tell a story", stream: true, max_output_tokens: 200 },
    complete: /event: response\.(?:completed|incomplete)\ndata: [^\n]*\n\n$/u,
    failed: /event: error\ndata: [^\n]*\n\nevent: response\.failed\ndata: [^\n]*\n\n$/u,
  },
  {
    path: "/v1/messages",
    protocol: "anthropic",
    body: { messages: [turn], stream: true, max_tokens: 200 },
    complete: /event: message_stop\ndata: [^\n]*\n\n$/u,
    failed: /event: error\ndata: [^\n]*\n\n$/u,
  },
];

type Ending = "complete" | "failed" | "rejected" | "truncated";

async function readToEnd(url: string, index: number): Promise<Ending> {
  const endpoint = endpoints[index % endpoints.length];
  if (endpoint === undefined) return "truncated";
  try {
    const body = JSON.stringify({ model: "tiny", ...endpoint.body });
    const response = await fetch(`${url}${endpoint.path}`, { method: "POST", body });
    const text = await response.text();
    if (response.ok)
      return endpoint.failed.test(text) ? "failed" : endpoint.complete.test(text) ? "complete" : "truncated";
    const contentType = response.headers.get("content-type") ?? "";
    const fault = findShapeFault(endpoint.protocol, { status: response.status, contentType, body: text });
    return fault === undefined && [503, 529].includes(response.status) ? "rejected" : "truncated";
  } catch {
    return "truncated";
  }
}

function countEndings(endings: readonly Ending[]): Readonly<Record<Ending, number>> {
  const count = (wanted: Ending): number => endings.filter((ending) => ending === wanted).length;
  return {
    complete: count("complete"),
    failed: count("failed"),
    rejected: count("rejected"),
    truncated: count("truncated"),
  };
}

test("after a SIGTERM, each of two hundred streams finishes or gets an error of its API, and the program exits with 0", {
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
    const ending = await readToEnd(url, index);
    ended += 1;
    return ending;
  });
  // Some have finished, some are running, and the others are queued.
  await expect.poll(() => ended, { timeout: 60_000 }).toBeGreaterThan(0);
  process.kill(hearth.pid, "SIGTERM");
  const endings = countEndings(await Promise.all(streams));
  expect(endings.truncated).toBe(0);
  expect(endings.complete).toBeGreaterThan(0);
  expect(endings.rejected).toBeGreaterThan(0);
  expect(await hearth.exited).toBe(0);
  recordFigure({
    claim: "families 15",
    text: `${streamCount} streams and a SIGTERM: ${endings.complete} finished, ${endings.rejected} queued ones were rejected with a retryable error, ${endings.truncated} truncated, exit code 0`,
    counted: { reached: streamCount - endings.truncated, needed: streamCount },
  });
});

test("two hundred streams still running after the grace period end with the error event of their API", async () => {
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
  const streams = Array.from({ length: streamCount }, (_none, index) => readToEnd(server.url, index));
  await expect.poll(() => server.scheduler.queueLengths()[0]?.leases, { timeout: 20_000 }).toBe(streamCount);
  await server.scheduler.close(0.5);
  const endings = countEndings(await Promise.all(streams));
  expect(endings).toEqual({ complete: 0, failed: streamCount, rejected: 0, truncated: 0 });
  recordFigure({
    claim: "families 15",
    text: `${endings.failed} of ${streamCount} running streams ended with the error event of their API`,
    counted: { reached: endings.failed, needed: streamCount },
  });
});
