import type { FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { serveUntilStopped } from "./serve-until-stopped.ts";

const chunksPerSecond = 100;
const paragraph =
  "A **hearth** keeps `heat` in its *stones* and gives it back slowly, long after the fire is low.\n\n1. stones\n2. ash\n3. air\n\n```python\nfor stone in stones:\n    print(stone.warmth)\n```\n\n";
const chunks = paragraph.match(/\s*\S+\s?/gu) ?? [];

/** Writes each chunk when it is due by the clock, because short timers fire late. */
function* writeSteadily(): Generator<FakeEngineStep> {
  const startedAt = performance.now();
  for (let written = 0; ; written += 1) {
    const due = startedAt + (written * 1000) / chunksPerSecond;
    const wait = due - performance.now();
    if (wait > 1) yield { do: "wait", milliseconds: wait };
    yield { do: "write", text: chunks[written % chunks.length] ?? "" };
  }
}

// Streams a hundred chunks per second in its own process. Started by the performance test of the web UI.
await using server = await startTestServer({ models: { tiny }, script: writeSteadily, isOffline: true });
await serveUntilStopped(server);
