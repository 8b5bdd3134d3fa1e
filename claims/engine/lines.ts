/**
 * @module
 * The claims about the engine: as fast as the bare one, fair, faithful to llama.cpp, and safe from the files and
 * callers it serves. Benchmarks take one thread unless threads are the question.
 * Imported by `claims/main.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages", "python", "test models"];
const engine = "packages/llama-engine/src";
const generation = "apps/hearth/src/generation";

/** In the order of their lines. */
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
    title: "The port is as fast as llama.cpp's own server, one and eight streams, one thread and all cores",
    paths: ["bench/port-against-llama-server.bench.test.ts"],
  },
  {
    title: "The second turn of a long conversation starts in a tenth of the time of the first",
    paths: ["bench/second-turn.bench.test.ts"],
  },
  {
    title: "A short request is answered soon although a long prompt is being read",
    paths: ["bench/short-request.bench.test.ts"],
  },
  {
    title: "A hang-up frees its sequence soon, and none is ever lost",
    paths: ["bench/hang-up.bench.test.ts"],
  },
  {
    title: "Killing a worker costs its callers one failure each and another model nothing",
    paths: ["bench/kills.bench.test.ts"],
  },
  {
    title: "Broken model files are refused, and native code that sees one costs a worker at most",
    paths: [
      "packages/gguf/src/mutants.integration.test.ts",
      `${engine}/driver/broken-files.integration.test.ts`,
    ],
  },
  {
    title: "Answers keep the schema they are given, and a keyword that is not supported is refused by name",
    paths: [
      `packages/output-grammars/src/generated-output.model.test.ts`,
      `packages/output-grammars/src/rejected-schemas.test.ts`,
    ],
  },
  {
    title: "The chosen count of threads is nearly the fastest, idle and beside a busy core",
    paths: ["bench/threads.bench.test.ts"],
  },
  {
    title: "Rendered prompts equal those of llama.cpp's own server, byte for byte",
    paths: [`packages/chat-templates/src/family-prompts.model.test.ts`],
  },
  {
    title: "A call rendered by a family's own template is read back as the same call, whatever the cuts",
    paths: [`${generation}/tool-calls/`],
  },
  {
    title: "Thinking, stops, bias, filling in the middle and log-probabilities are those of llama.cpp",
    paths: [
      `${generation}/reasoning.test.ts`,
      `${generation}/stop-sequences.test.ts`,
      `${generation}/generate.model.test.ts`,
      `${engine}/driver/llama-server-parity.model.test.ts`,
    ],
  },
  {
    title: "The same request and seed give the same text, alone and among seven others",
    paths: ["bench/same-answers.bench.test.ts"],
  },
  {
    title: "Embeddings of MiniLM equal those of llama.cpp's own server",
    paths: ["bench/same-embeddings.bench.test.ts"],
  },
  {
    title:
      "A worker reaches nothing outside, takes no more memory than it may, and each missing wall is named",
    paths: [
      "packages/engine-host/src/sandbox/",
      `${engine}/driver/memory-exhaustion.model.test.ts`,
      `${engine}/driver/slow-grammars.model.test.ts`,
      "apps/hearth/src/commands/serve.integration.test.ts",
    ],
  },
];

export const engineLines: readonly ShowLine[] = claimLines("engine", claims, everything);
