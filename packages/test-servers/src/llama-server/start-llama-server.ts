/**
 * @module
 * llama.cpp's own HTTP server, from the prebuilt `xllamacpp`: the yardstick for Hearth's answers and speed, and a
 * real upstream engine. `await using server = await startLlamaServer({ model })`.
 * Promises one process on a free loopback port, ready when the promise resolves, gone when the scope ends or
 * the starter dies. One thread unless told: two threads crawl when another process takes a core.
 * Imported, through the package's index, by tests, benchmarks and `show`.
 */
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { type OwnedProcess, startProcess } from "../owned-process.ts";
import { preparePython } from "../python/prepare-python.ts";
import { pythonEnvironment } from "../python/run-python.ts";

export type LlamaServerPlan = {
  /** The path of a GGUF file. */
  readonly model: string;
  /** The path of an image projector for the model. */
  readonly projector?: string;
  /** The text of a Jinja template to use instead of the model's own. */
  readonly chatTemplate?: string;
  /** For each slot. */
  readonly contextTokens?: number;
  readonly parallelSlots?: number;
  readonly threads?: number;
  /** Serve only embeddings, which is what an encoder such as MiniLM can do. */
  readonly embeddings?: boolean;
  /** What the model file says unless told. */
  readonly pooling?: "none" | "mean" | "cls" | "last" | "rank";
  /** For prompts that left their slot; llama.cpp's own choice unless told. */
  readonly cacheMegabytes?: number;
  /** Where it listens; the loopback address unless it runs in a network of its own. */
  readonly host?: string;
  /** Words before the command, such as those that enter a namespace. */
  readonly within?: readonly [string, ...string[]];
  readonly readyWithinSeconds?: number;
};

export type LlamaServer = AsyncDisposable & {
  /** The address without a final slash: `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** The name it answers to as a model. */
  readonly model: string;
  readonly process: OwnedProcess;
};

const launcher = fileURLToPath(new URL("launch.py", import.meta.url));

export async function startLlamaServer(plan: LlamaServerPlan): Promise<LlamaServer> {
  const { interpreter } = await preparePython();
  const alias = basename(plan.model, ".gguf");
  let url = "";
  const [command, ...words] = [
    ...(plan.within ?? []),
    interpreter,
    launcher,
    JSON.stringify(writeOut(plan, alias)),
  ];
  const owned = await startProcess({
    command: command ?? interpreter,
    arguments: words,
    environment: pythonEnvironment,
    isReady: (output) => {
      url = findAddress(output) ?? "";
      return url !== "" && isHealthy(url);
    },
    readyWithinSeconds: plan.readyWithinSeconds ?? 60,
  });
  return {
    url,
    model: alias,
    process: owned,
    [Symbol.asyncDispose]: () => owned.stop(),
  };
}

function writeOut(plan: LlamaServerPlan, alias: string): Record<string, unknown> {
  return {
    model: plan.model,
    alias,
    projector: plan.projector ?? null,
    chatTemplate: plan.chatTemplate ?? null,
    contextTokens: plan.contextTokens ?? 2048,
    parallelSlots: plan.parallelSlots ?? 1,
    threads: plan.threads ?? 1,
    embeddings: plan.embeddings ?? false,
    pooling: plan.pooling ?? null,
    cacheMegabytes: plan.cacheMegabytes ?? null,
    host: plan.host ?? "127.0.0.1",
  };
}

/**
 * The server picks its port itself and the launcher prints it, so nobody can take the port in between.
 * The line may follow half a line of the other stream, so it is not looked for at the start of one.
 */
function findAddress(output: string): string | undefined {
  return /listening on (http:\/\/[\d.]+:\d+)\n/.exec(output)?.[1];
}

async function isHealthy(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/health`).catch(() => undefined);
  return answer?.ok ?? false;
}
