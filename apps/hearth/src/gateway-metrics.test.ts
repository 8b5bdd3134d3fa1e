import { expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";

const idle = { queueLengths: () => [], running: () => [] };
const queue = { key: "digest", purpose: "generate", leases: 2, waiting: 3 } as const;
const busy = { ...idle, queueLengths: () => [queue] };

test("the load of each model is reported under the name clients use, and names are read once per scrape", async () => {
  let reads = 0;
  const names = async (): Promise<ReadonlyMap<string, string>> => {
    reads += 1;
    return new Map([["digest", "qwen3:latest"]]);
  };
  const metrics = createMetrics(busy, { names });
  for (const scrape of [1, 2]) {
    const { text } = await metrics.render();
    expect(text).toContain('vllm:num_requests_running{model_name="qwen3:latest"} 2\n');
    expect(text).toContain('vllm:num_requests_waiting{model_name="qwen3:latest"} 3\n');
    expect(reads).toBe(scrape);
  }
});

test("without loaded models one idle entry is reported, because a missing metric means a broken engine", async () => {
  const { text } = await createMetrics(idle).render();
  expect(text).toContain('vllm:num_requests_waiting{model_name=""} 0\n');
});

test("requests queued in Hearth for a remote engine count as that engine's waiting requests", async () => {
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
