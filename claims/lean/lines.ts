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
    line: 3,
    title:
      "The first token of a model that is not loaded comes nearly as soon as from llama.cpp's own server",
    paths: ["bench/default-costs.bench.test.ts"],
  },
];

export const leanLines: readonly ShowLine[] = lines.map(({ paths, ...line }) => ({
  topic,
  needs: everything,
  ...line,
  ...provenByTests(`${topic} ${line.line}`, paths),
}));
