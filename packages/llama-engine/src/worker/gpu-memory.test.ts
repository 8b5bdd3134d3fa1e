import { expect, test } from "vitest";
import { countGpuBytes } from "./gpu-memory.ts";

test("only buffers in the memory of the GPU are counted", () => {
  const lines = [
    "load_tensors:   CPU_Mapped model buffer size =     0.25 MiB",
    "load_tensors:      Vulkan0 model buffer size =     3.00 MiB",
    "llama_context: Vulkan_Host  output buffer size =     0.19 MiB",
    "llama_kv_cache:    Vulkan0 KV buffer size =     0.50 MiB",
    "llama_kv_cache:        CPU KV buffer size =     0.38 MiB",
    "sched_reserve:      CUDA1 compute buffer size =     2.00 MiB",
    "llama_model_loader: loaded meta data with 25 key-value pairs",
  ];
  expect(countGpuBytes(lines.join("\n"))).toBe(5.5 * 1024 ** 2);
  expect(lines.reduce((sum, line) => sum + countGpuBytes(line), 0)).toBe(5.5 * 1024 ** 2);
});
