import { execFileSync } from "node:child_process";
import { type LlamaServer, type LlamaServerPlan, startLlamaServer } from "@hearth-and-keep/test-servers";
import { llamaServerPath } from "./config.ts";

/** For figures: which llama-server they were measured against. */
export const yardstick: string =
  llamaServerPath === undefined
    ? "llama.cpp's own server (Python package, for AVX2)"
    : `llama.cpp's own server (compiled by ${compilerOf(llamaServerPath)})`;

/** The last line of `--version` is "built with Clang 16.0.6 for Linux x86_64". */
function compilerOf(path: string): string {
  const output = execFileSync("/bin/sh", ["-c", '"$0" --version 2>&1', path], { encoding: "utf8" });
  return /built with (.+) for/u.exec(output)?.[1] ?? "an unknown compiler";
}

/** Starts llama.cpp's own server: the program in `LLAMA_SERVER`, else the Python package's. */
export function startYardstick(plan: Omit<LlamaServerPlan, "program">): Promise<LlamaServer> {
  return startLlamaServer({ ...plan, program: llamaServerPath });
}
