import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { startHearth } from "../../bench/served.ts";
import { workersOf } from "./workers-of.ts";

const model = "model";
const messages = [{ role: "user", content: "Once upon a time" }];

const neighbors: readonly (readonly [path: string, body: object])[] = [
  ["/api/generate", { prompt: "Once", raw: true, options: { num_predict: 4, seed: 1 } }],
  ["/api/chat", { messages, options: { num_predict: 4, seed: 1 } }],
  ["/v1/chat/completions", { messages, max_tokens: 4, seed: 1 }],
  ["/alt/v1/messages", { messages, max_tokens: 4, temperature: 0 }],
];

async function send(url: string, body: object): Promise<readonly [status: number, code: unknown]> {
  const response = await fetch(url, {
    method: "POST",
    body: JSON.stringify({ model, stream: false, ...body }),
  });
  // An error response of /api has a code.
  const { code } = (await response.json()) as { readonly code?: unknown };
  return [response.status, code];
}

function generateWithFormat(
  url: string,
  property: string,
): Promise<readonly [status: number, code: unknown]> {
  const format = {
    type: "object",
    properties: { [property]: { type: "boolean" } },
    required: [property],
    additionalProperties: false,
  };
  const options = { num_predict: 32, seed: 1 };
  return send(`${url}/api/generate`, { prompt: "Is water wet?", raw: true, format, options });
}

/** A stopped process looks to the server like a worker that never finishes a step. */
test("when a format stalls a worker, other requests are repeated, and the format is rejected from then on", {
  timeout: 120_000,
}, async () => {
  await using hearth = await startHearth("tiny-llama.gguf", { HEARTH_THREADS: "1" });
  const { url, pid } = hearth;
  expect(await generateWithFormat(url, "first")).toEqual([200, undefined]);
  const before = workersOf(pid);
  for (const worker of before) process.kill(worker, "SIGSTOP");
  const stalling = generateWithFormat(url, "second");
  const beside = neighbors.map(([path, body]) => send(`${url}${path}`, body));
  expect(await stalling).toEqual([400, "grammar-too-slow"]);
  const responses = await Promise.all(beside);
  expect(responses).toEqual(neighbors.map(() => [200, undefined]));
  const restarted = workersOf(pid);
  expect(restarted.some((worker) => before.includes(worker))).toBe(false);
  expect(await generateWithFormat(url, "second")).toEqual([400, "grammar-rejected"]);
  expect(await generateWithFormat(url, "third")).toEqual([200, undefined]);
  expect(workersOf(pid)).toEqual(restarted);
  recordFigure({
    claim: "guard 1",
    text: `${responses.length} of ${neighbors.length} requests beside a format that stalled the worker were repeated and answered; the format was rejected when it came again`,
    counted: { reached: responses.length, needed: neighbors.length },
  });
});
