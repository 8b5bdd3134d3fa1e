import { expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";

const idle = { queueLengths: () => [], running: () => [] };
const queue = { key: "digest", purpose: "generate", leases: 2, waiting: 3 } as const;
const busy = { ...idle, queueLengths: () => [queue] };

test("a gateway's picker finds the load of each model by the name callers use, asked for once a look", async () => {
  let looks = 0;
  const names = async (): Promise<ReadonlyMap<string, string>> => {
    looks += 1;
    return new Map([["digest", "qwen3:latest"]]);
  };
  const metrics = createMetrics(busy, { names });
  for (const look of [1, 2]) {
    const { text } = await metrics.render();
    expect(text).toContain('vllm:num_requests_running{model_name="qwen3:latest"} 2\n');
    expect(text).toContain('vllm:num_requests_waiting{model_name="qwen3:latest"} 3\n');
    expect(looks).toBe(look);
  }
});

test("with nothing loaded one line says so, because a missing one stands for a broken engine", async () => {
  const { text } = await createMetrics(idle).render();
  expect(text).toContain('vllm:num_requests_waiting{model_name=""} 0\n');
});

test("who waits for a place on an engine elsewhere is in line for a gateway's picker, too", async () => {
  const leased = { ...idle, queueLengths: () => [{ ...queue, leases: 10, waiting: 3 }] };
  const { text } = await createMetrics(leased, {
    names: async () => new Map([["digest", "qwen3:latest"]]),
    pools: () => [
      { model: "qwen3:latest", waiting: 6, members: [] },
      { model: "other:latest", waiting: 9, members: [] },
    ],
  }).render();
  expect(text).toContain('vllm:num_requests_running{model_name="qwen3:latest"} 4\n');
  expect(text).toContain('vllm:num_requests_waiting{model_name="qwen3:latest"} 9\n');
});
