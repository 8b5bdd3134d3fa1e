import type { FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";

const piecesPerSecond = 100;
const paragraph =
  "A **hearth** keeps `heat` in its *stones* and gives it back slowly, long after the fire is low.\n\n1. stones\n2. ash\n3. air\n\n```python\nfor stone in stones:\n    print(stone.warmth)\n```\n\n";
const pieces = paragraph.match(/\s*\S+\s?/gu) ?? [];

/** Says a piece whenever its time has come, by the clock: waits of a few milliseconds are longer than they say. */
function* speakSteadily(): Generator<FakeEngineStep> {
  const startedAt = performance.now();
  for (let said = 0; ; said += 1) {
    const due = startedAt + (said * 1000) / piecesPerSecond;
    const wait = due - performance.now();
    if (wait > 1) yield { do: "wait", milliseconds: wait };
    yield { do: "write", text: pieces[said % pieces.length] ?? "" };
  }
}

// A hundred pieces a second to whoever asks, in a process of its own. Started by the page's test of its speed.
await using server = await startTestServer({ models: { tiny }, script: speakSteadily, isOffline: true });
process.stdout.write(`listening on ${server.url}\n`);
const { promise, resolve } = Promise.withResolvers<void>();
process.once("SIGTERM", () => resolve());
await promise;
