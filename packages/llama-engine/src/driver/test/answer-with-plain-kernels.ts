import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { EngineEvent, GenerateRequest, LoadPlan } from "@hearth-and-keep/engine";

const program = fileURLToPath(new URL("../fixtures/answer-requests.ts", import.meta.url));
/** The instructions that the prebuilt server of llama.cpp is compiled for. */
const plain = "libggml-cpu-haswell.so";
const older = new Set([plain, ...["x64", "sse42", "sandybridge", "ivybridge", "piledriver"].map(libraryOf)]);

/**
 * Our engine computing with the same instructions as the prebuilt server of llama.cpp. The binding takes the newest
 * the processor has, whose sums differ in the second digit; only equal kernels show whether everything else is equal.
 */
export async function answerWithPlainKernels(
  plan: LoadPlan,
  requests: readonly GenerateRequest[],
): Promise<readonly (readonly EngineEvent[])[]> {
  const folder = librariesFolder();
  const newer = readdirSync(folder).filter((name) => name.startsWith("libggml-cpu-") && !older.has(name));
  const covers = newer.map((name) => `mount --bind ${join(folder, plain)} ${join(folder, name)}`);
  const script = [...covers, `exec "${process.execPath}" "${program}"`].join(" && ");
  const own = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const child = spawn("unshare", ["--mount", ...own, "sh", "-c", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const sent = requests.map((request) => ({ ...request, biases: [...request.sampling.logitBias] }));
  child.stdin.end(JSON.stringify({ plan, requests: sent }));
  // Printed by the program above.
  return JSON.parse(await text(child.stdout)) as EngineEvent[][];
}

function libraryOf(processor: string): string {
  return `libggml-cpu-${processor}.so`;
}

function librariesFolder(): string {
  const binding = createRequire(import.meta.url).resolve("node-llama-cpp");
  const entry = createRequire(binding).resolve("@node-llama-cpp/linux-x64");
  return join(dirname(entry), "../bins/linux-x64");
}
