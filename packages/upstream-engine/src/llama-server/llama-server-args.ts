import type { StartPlan } from "./start-plan.ts";

/**
 * Converts a start plan to arguments of `llama-server`. The key is in a file, because command lines are visible to all
 * users.
 */
export function llamaServerArgs(plan: StartPlan, keyFile: string): readonly string[] {
  const settings: Readonly<Record<string, string | number>> = {
    model: plan.modelPath,
    host: plan.socketPath,
    "api-key-file": keyFile,
    parallel: plan.slots,
    "ctx-size": plan.contextTokens * plan.slots,
    "batch-size": plan.batchTokens,
    "ubatch-size": plan.stepTokens,
    threads: plan.threads,
    "threads-batch": plan.threads,
    "threads-http": plan.connections,
    timeout: plan.idleSeconds,
    "cache-type-k": plan.cacheType,
    "cache-type-v": plan.cacheType,
    // Like the cache of idle slots below, it would keep prompts where other clients' requests find them.
    "cache-ram": 0,
    fit: "off",
    "log-verbosity": 1,
  };
  return [
    ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ...(plan.flashAttention === null ? [] : ["--flash-attn", plan.flashAttention ? "on" : "off"]),
    ...(plan.gpuLayers === null ? [] : ["--gpu-layers", String(plan.gpuLayers)]),
    ...(plan.memoryMap ? [] : ["--load-mode", "none"]),
    ...plan.adapters.flatMap(({ path, scale }) => ["--lora-scaled", `${path}:${scale}`]),
    ...projectorArgs(plan),
    ...purposeArgs(plan),
    "--no-kv-unified",
    "--no-context-shift",
    "--no-cache-idle-slots",
    "--no-warmup",
    "--slots",
    "--no-ui",
    "--offline",
  ];
}

function projectorArgs({ projectorPath, gpuLayers }: StartPlan): readonly string[] {
  if (projectorPath === null) return ["--no-mmproj"];
  return ["--mmproj", projectorPath, ...(gpuLayers === 0 ? ["--no-mmproj-offload"] : [])];
}

function purposeArgs({ purpose }: StartPlan): readonly string[] {
  if (purpose === "generate") return [];
  return purpose === "embed" ? ["--embeddings"] : ["--reranking"];
}
