/**
 * @module
 * The claims about the engine: as fast as the bare binding, fair between requests, faithful to llama.cpp, and safe
 * against hostile model files and clients. Benchmarks use one thread unless they measure threads.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages", "python", "test models"];
const engine = "packages/llama-engine/src";
const generation = "apps/hearth/src/generation";

/** Line numbers follow this order. */
const claims: readonly Claim[] = [
  {
    title: "One stream through the port is as fast as a bare loop over the binding",
    paths: ["bench/one-stream-against-binding.bench.test.ts"],
  },
  {
    title: "Eight streams through the port are as fast as the bare binding with eight sequences",
    paths: ["bench/eight-streams-against-binding.bench.test.ts"],
  },
  {
    title:
      "The port is as fast as llama.cpp's own server with one and eight streams, on one thread and all cores",
    paths: ["bench/port-against-llama-server.bench.test.ts"],
  },
  {
    title: "The second turn of a long conversation starts in a tenth of the time of the first",
    paths: ["bench/second-turn.bench.test.ts"],
  },
  {
    title: "A short request starts quickly even while a long prompt is being processed",
    paths: ["bench/short-request.bench.test.ts"],
  },
  {
    title: "A client disconnect frees its sequence quickly, and no sequence is ever leaked",
    paths: ["bench/cancelled-requests.bench.test.ts"],
  },
  {
    title: "Killing a worker fails each of its requests once and does not affect other models",
    paths: ["bench/kills.bench.test.ts"],
  },
  {
    title: "Corrupt model files are rejected, and one that reaches native code crashes at most its worker",
    paths: [
      "packages/gguf/src/mutants.integration.test.ts",
      `${engine}/driver/broken-files.integration.test.ts`,
    ],
  },
  {
    title: "Output conforms to the requested schema, and unsupported keywords are rejected by name",
    paths: [
      `packages/output-grammars/src/generated-output.model.test.ts`,
      `packages/output-grammars/src/rejected-schemas.test.ts`,
    ],
  },
  {
    title: "The chosen thread count is nearly the fastest, on an idle machine and next to a busy core",
    paths: ["bench/threads.bench.test.ts"],
  },
  {
    title: "Rendered prompts match those of llama.cpp's own server byte for byte",
    paths: [`packages/chat-templates/src/family-prompts.model.test.ts`],
  },
  {
    title:
      "A tool call rendered by a model family's template parses back to the same call, however it is chunked",
    paths: [`${generation}/tool-calls/`],
  },
  {
    title: "Reasoning, stop sequences, logit bias, fill-in-the-middle and log-probabilities match llama.cpp",
    paths: [
      `${generation}/reasoning.test.ts`,
      `${generation}/stop-sequences.test.ts`,
      `${generation}/generate.model.test.ts`,
      `${engine}/driver/llama-server-parity.model.test.ts`,
    ],
  },
  {
    title: "The same request and seed give the same text, alone and alongside seven others",
    paths: ["bench/same-output.bench.test.ts"],
  },
  {
    title: "MiniLM embeddings match those of llama.cpp's own server",
    paths: ["bench/same-embeddings.bench.test.ts"],
  },
  {
    title:
      "A worker is isolated and limited in memory, and every missing layer of its sandbox is reported by name",
    paths: [
      "packages/engine-host/src/sandbox/",
      `${engine}/driver/memory-exhaustion.model.test.ts`,
      `${engine}/driver/slow-grammars.model.test.ts`,
      "apps/hearth/src/commands/serve.integration.test.ts",
    ],
  },
];

export const engineLines: readonly ShowLine[] = claimLines("engine", claims, everything);
