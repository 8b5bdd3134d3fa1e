import { expect, test } from "vitest";
import { llamaServerArgs } from "./llama-server-args.ts";
import type { StartPlan } from "./start-plan.ts";

const plan: StartPlan = {
  modelPath: "/models/one.gguf",
  projectorPath: null,
  adapters: [],
  socketPath: "/tmp/hearth-1/e/e.sock",
  key: "secret",
  purpose: "generate",
  slots: 4,
  contextTokens: 2048,
  batchTokens: 2048,
  stepTokens: 512,
  threads: 2,
  gpuLayers: null,
  cacheType: "f16",
  flashAttention: null,
  memoryMap: true,
  connections: 18,
  idleSeconds: 3600,
};

/** The documented flags of llama.cpp's server that we use, with the number of values that follow each. */
const documented: Readonly<Record<string, 0 | 1>> = {
  "--model": 1,
  "--host": 1,
  "--api-key-file": 1,
  "--parallel": 1,
  "--ctx-size": 1,
  "--batch-size": 1,
  "--ubatch-size": 1,
  "--threads": 1,
  "--threads-batch": 1,
  "--threads-http": 1,
  "--timeout": 1,
  "--cache-type-k": 1,
  "--cache-type-v": 1,
  "--flash-attn": 1,
  "--gpu-layers": 1,
  "--load-mode": 1,
  "--lora-scaled": 1,
  "--mmproj": 1,
  "--no-mmproj": 0,
  "--no-mmproj-offload": 0,
  "--embeddings": 0,
  "--reranking": 0,
  "--no-kv-unified": 0,
  "--no-context-shift": 0,
  "--cache-ram": 1,
  "--no-cache-idle-slots": 0,
  "--fit": 1,
  "--no-warmup": 0,
  "--slots": 0,
  "--no-ui": 0,
  "--offline": 0,
  "--log-verbosity": 1,
};

function parseArgs(args: readonly string[]): Map<string, string> {
  const flags = new Map<string, string>();
  for (let index = 0; index < args.length; index += 1) {
    const flag = args[index] ?? "";
    expect(Object.keys(documented), flag).toContain(flag);
    const value = documented[flag] === 1 ? (args[++index] ?? "missing") : "";
    flags.set(flag, value);
  }
  return flags;
}

test("every argument is a documented flag or its value, and none contains the key", () => {
  const args = llamaServerArgs(plan, "/tmp/hearth-1/e/key");
  const flags = parseArgs(args);
  expect(args.join(" ")).not.toContain("secret");
  expect(flags.get("--host")).toMatch(/\.sock$/u);
  expect(flags.get("--ctx-size")).toBe("8192");
  expect(flags.get("--cache-ram")).toBe("0");
  expect(flags.has("--gpu-layers")).toBe(false);
});

test("a projector, adapters, embedding and a quantized cache are set through their flags", () => {
  const flags = parseArgs(
    llamaServerArgs(
      {
        ...plan,
        projectorPath: "/models/projector.gguf",
        adapters: [{ path: "/models/adapter.gguf", scale: 0.5 }],
        purpose: "embed",
        gpuLayers: 0,
        cacheType: "q8_0",
        flashAttention: true,
        memoryMap: false,
      },
      "/tmp/hearth-1/e/key",
    ),
  );
  expect(flags.get("--mmproj")).toBe("/models/projector.gguf");
  expect(flags.has("--no-mmproj-offload")).toBe(true);
  expect(flags.get("--lora-scaled")).toBe("/models/adapter.gguf:0.5");
  expect(flags.has("--embeddings")).toBe(true);
  expect(flags.get("--flash-attn")).toBe("on");
  expect(flags.get("--load-mode")).toBe("none");
  expect(flags.get("--cache-type-k")).toBe("q8_0");
});
