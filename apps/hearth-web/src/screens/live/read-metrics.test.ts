import { expect, test } from "vitest";
import { pointBetween, readMetrics } from "./read-metrics.ts";

const text = `# HELP hearth_requests_total Requests answered
# TYPE hearth_requests_total counter
hearth_requests_total{route="GET /metrics",status="200"} 4
hearth_requests_total{route="POST /api/chat",status="200"} 3
hearth_pieces_total 120
hearth_requests_running 2
hearth_requests_waiting 1
hearth_models_memory_bytes 1.5e+8
hearth_models_loaded 1
process_cpu_seconds_total 12
`;

test("counters with labels are summed, gauges are taken as they are, and other programs' lines are passed over", () => {
  expect(readMetrics(text, 10)).toEqual({
    at: 10,
    piecesTotal: 120,
    requestsTotal: 7,
    running: 2,
    waiting: 1,
    memoryBytes: 1.5e8,
    loaded: 1,
  });
});

test("a point has rates since the sample before, without the page's own two requests", () => {
  const before = readMetrics(text, 10);
  const now = { ...before, at: 12, piecesTotal: 180, requestsTotal: 13 };
  expect(pointBetween(before, now)).toMatchObject({ tokensPerSecond: 30, requestsPerSecond: 2 });
});

test("a server that was started anew is no negative rate", () => {
  const before = readMetrics(text, 10);
  const now = { ...before, at: 11, piecesTotal: 5, requestsTotal: 1 };
  expect(pointBetween(before, now)).toMatchObject({ tokensPerSecond: 0, requestsPerSecond: 0 });
});
