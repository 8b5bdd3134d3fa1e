/**
 * @module
 * The claims about what a model costs: memory for what is used, and no waiting before the first token.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { provenByTests } from "../prove-by-tests.ts";

const topic = "lean";
const everything: readonly Need[] = ["debian packages", "python", "test models"];

type Line = Pick<ShowLine, "line" | "title"> & { readonly paths: readonly string[] };

const lines: readonly Line[] = [
  {
    line: 1,
    title: "A model that one person has chatted with occupies the memory of one sequence",
    paths: ["bench/default-costs.bench.test.ts"],
  },
  {
    line: 2,
    title: "Seven clients join one without a pause and without reading prompts again, and leave again",
    paths: ["bench/one-to-eight-clients.bench.test.ts"],
  },
  {
    line: 3,
    title:
      "The first token of a model that is not loaded comes nearly as soon as from llama.cpp's own server",
    paths: ["bench/default-costs.bench.test.ts"],
  },
  {
    line: 4,
    title: "A long prompt that is alone is read as fast as by llama.cpp's own server",
    paths: ["bench/long-prompts-against-llama-server.bench.test.ts"],
  },
  {
    line: 5,
    title: "A short request beside a long prompt waits little, and so does the long prompt",
    paths: ["bench/short-request.bench.test.ts"],
  },
  {
    line: 6,
    title: "One and eight streams at the socket are faster than from llama.cpp's own server",
    paths: ["bench/socket-against-llama-server.bench.test.ts"],
  },
  {
    line: 7,
    title: "A smaller context takes less memory, and derived models and embeddings share one load",
    paths: ["bench/memory-on-demand.bench.test.ts", "apps/hearth/src/scheduling/shared-loads.test.ts"],
  },
  {
    line: 8,
    title: "Layers run on a GPU, its memory is counted, and the CPU takes over when it is lost",
    paths: ["apps/hearth/src/engines/gpu-engine.model.test.ts"],
  },
  {
    line: 9,
    title:
      "Guessed tokens make an output that repeats its prompt faster, slow down no other, and change no word",
    paths: ["bench/speculation.bench.test.ts", "packages/llama-engine/src/driver/speculation.model.test.ts"],
  },
  {
    line: 10,
    title: "A chat goes on at once after a restart, and no other key can tell by time what is cached",
    paths: ["bench/prompt-cache.bench.test.ts"],
  },
  {
    line: 11,
    title: "The estimated memory of a model is near its measured peak",
    paths: ["apps/hearth/src/scheduling/measured-memory.model.test.ts"],
  },
];

export const leanLines: readonly ShowLine[] = lines.map(({ paths, ...line }) => ({
  topic,
  needs: everything,
  ...line,
  ...provenByTests(`${topic} ${line.line}`, paths),
}));
