import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { EngineEvent, EngineRequest, LoadPlan } from "@hearth-and-keep/engine";

const program = fileURLToPath(new URL("../fixtures/generate-responses.ts", import.meta.url));
/** The instruction set that the prebuilt server of llama.cpp is compiled for. */
const plain = "libggml-cpu-haswell.so";
const older = new Set([
  plain,
  ...["x64", "sse42", "sandybridge", "ivybridge", "piledriver"].map(libraryName),
]);

/**
 * Runs our engine with the same kernels as the prebuilt server of llama.cpp. The binding selects the newest instruction
 * set of the CPU, whose sums differ in the second digit; only with equal kernels can everything else be compared.
 */
export async function generateWithPlainKernels(
  plan: LoadPlan,
  requests: readonly EngineRequest[],
): Promise<readonly (readonly EngineEvent[])[]> {
  const folder = librariesFolder();
  const newer = readdirSync(folder).filter((name) => name.startsWith("libggml-cpu-") && !older.has(name));
  const mounts = newer.map((name) => `mount --bind ${join(folder, plain)} ${join(folder, name)}`);
  const script = [...mounts, `exec "${process.execPath}" "${program}"`].join(" && ");
  const userArgs = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const child = spawn("unshare", ["--mount", ...userArgs, "sh", "-c", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const sent = requests.map((request) => ({ ...request, biases: [...request.sampling.logitBias] }));
  child.stdin.end(JSON.stringify({ plan, requests: sent }));
  // Printed by generate-responses.ts.
  return JSON.parse(await text(child.stdout)) as EngineEvent[][];
}

function libraryName(processor: string): string {
  return `libggml-cpu-${processor}.so`;
}

function librariesFolder(): string {
  const binding = createRequire(import.meta.url).resolve("node-llama-cpp");
  const entry = createRequire(binding).resolve("@node-llama-cpp/linux-x64");
  return join(dirname(entry), "../bins/linux-x64");
}
