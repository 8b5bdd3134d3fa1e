import { expect, test } from "vitest";
import { computePoint, parseMetrics } from "./parse-metrics.ts";

const text = `# HELP hearth_requests_total Finished requests
# TYPE hearth_requests_total counter
hearth_requests_total{route="GET /metrics",status="200"} 4
hearth_requests_total{route="POST /api/chat",status="200"} 3
hearth_output_chunks_total 120
hearth_requests_running 2
hearth_requests_waiting 1
hearth_models_memory_bytes 1.5e+8
hearth_models_loaded 1
process_cpu_seconds_total 12
`;

test("labeled counters are summed, gauges are read, and metrics of other programs are ignored", () => {
  expect(parseMetrics(text, 10)).toEqual({
    at: 10,
    outputChunksTotal: 120,
    requestsTotal: 7,
    active: 2,
    queued: 1,
    memoryBytes: 1.5e8,
    loaded: 1,
  });
});

test("a point has the rates since the previous sample, without the page's own two requests", () => {
  const previous = parseMetrics(text, 10);
  const current = { ...previous, at: 12, outputChunksTotal: 180, requestsTotal: 13 };
  expect(computePoint(previous, current)).toMatchObject({ tokensPerSecond: 30, requestsPerSecond: 2 });
});

test("a restarted server yields no negative rates", () => {
  const previous = parseMetrics(text, 10);
  const current = { ...previous, at: 11, outputChunksTotal: 5, requestsTotal: 1 };
  expect(computePoint(previous, current)).toMatchObject({ tokensPerSecond: 0, requestsPerSecond: 0 });
});
