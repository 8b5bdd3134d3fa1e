/**
 * @module
 * llama.cpp's own HTTP server, from the prebuilt `xllamacpp` or as a given program: the reference for Hearth's output
 * and speed, and a real upstream engine. `await using server = await startLlamaServer({ model })`.
 * Runs one process on a free loopback port, ready when the promise resolves, stopped when the scope ends or this
 * process dies. Uses one thread by default: two threads are very slow when another process uses a core.
 * Imported, through the package's index, by tests, benchmarks and claims.
 */
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { type OwnedProcess, startProcess } from "../owned-process.ts";
import { preparePython } from "../python/prepare-python.ts";
import { pythonEnvironment } from "../python/run-python.ts";

export type LlamaServerPlan = {
  /** The path of a `llama-server` compiled elsewhere; by default the Python package is used. */
  readonly program?: string | undefined;
  /** The path of a GGUF file. */
  readonly model: string;
  /** The path of an image projector for the model. */
  readonly projector?: string;
  /** A Jinja template that replaces the model's own. */
  readonly chatTemplate?: string;
  /** Context size of each slot. */
  readonly contextTokens?: number;
  readonly parallelSlots?: number;
  readonly threads?: number;
  /** Serves only embeddings, for an encoder such as MiniLM. */
  readonly embeddings?: boolean;
  /** Defaults to the pooling of the model file. */
  readonly pooling?: "none" | "mean" | "cls" | "last" | "rank";
  /** Cache for prompts that were evicted from their slot; defaults to llama.cpp's choice. */
  readonly cacheMegabytes?: number;
  /** The address to listen on; loopback by default, another one in a separate network namespace. */
  readonly host?: string;
  /** A command prefix, e.g. one that enters a namespace. */
  readonly within?: readonly [string, ...string[]];
  readonly readyWithinSeconds?: number;
};

export type LlamaServer = AsyncDisposable & {
  /** The address without a final slash: `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** The model name it serves. */
  readonly model: string;
  readonly process: OwnedProcess;
};

const launcher = fileURLToPath(new URL("launch.py", import.meta.url));

export async function startLlamaServer(plan: LlamaServerPlan): Promise<LlamaServer> {
  const alias = basename(plan.model, ".gguf");
  let url = "";
  const [command, ...args] = await commandOf(plan, alias);
  const owned = await startProcess({
    command,
    arguments: args,
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

type Command = readonly [string, ...string[]];

async function commandOf({ program, ...plan }: LlamaServerPlan, alias: string): Promise<Command> {
  const own: Command =
    program === undefined
      ? [(await preparePython()).interpreter, launcher, JSON.stringify(withDefaults(plan, alias))]
      : programCommand(program, withDefaults(plan, alias));
  return plan.within === undefined ? own : [...plan.within, ...own];
}

/** Ends with this process, as the Python launcher does. */
const bound = ["setpriv", "--pdeathsig", "TERM"] as const;

/** The settings of `launch.py`, as arguments of the program. */
function programCommand(program: string, plan: CompletePlan): Command {
  const settings: Readonly<Record<string, string | number | null>> = {
    model: plan.model,
    alias: plan.alias,
    host: plan.host,
    port: 0,
    parallel: plan.parallelSlots,
    "ctx-size": plan.contextTokens * plan.parallelSlots,
    threads: plan.threads,
    "threads-batch": plan.threads,
    "cache-ram": plan.cacheMegabytes,
    pooling: plan.pooling,
    "chat-template": plan.chatTemplate,
    mmproj: plan.projector,
    seed: 1,
    "gpu-layers": 0,
    fit: "off",
  };
  const given = Object.entries(settings).filter(([, value]) => value !== null);
  return [
    ...bound,
    program,
    ...given.flatMap(([name, value]) => [`--${name}`, String(value)]),
    ...(plan.embeddings ? ["--embeddings"] : []),
    "--no-mmproj-offload",
    "--no-warmup",
    "--no-ui",
    "--metrics",
    "--offline",
  ];
}

type CompletePlan = ReturnType<typeof withDefaults>;

function withDefaults(plan: LlamaServerPlan, alias: string) {
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
 * The server chooses its port and the launcher prints it, so no other process can take the port in between.
 * The line may follow a partial line of the other stream, so the pattern is not anchored.
 */
function findAddress(output: string): string | undefined {
  return /listening on (http:\/\/[\d.]+:\d+)\n/.exec(output)?.[1];
}

async function isHealthy(url: string): Promise<boolean> {
  const response = await fetch(`${url}/health`).catch(() => undefined);
  return response?.ok ?? false;
}
