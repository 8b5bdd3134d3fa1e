import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sendChat, uniquePrompt } from "./key-load.ts";
import { compareInTurns, lowerBound, sized } from "./rounds.ts";
import { type Served, startHearth } from "./served.ts";

const clientCounts = chooseSize({ ci: [4], show: [1, 8, 32], nightly: [1, 8, 32] });
const turns = sized(3, 1);
const requestsPerTurn = (clients: number): number => sized(8 + 2 * clients, 8);
const keyCount = 32;
const keyOf = (index: number): string => `key-number-${index}-of-the-bench`;

let server: Served;

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
beforeAll(async () => {
  const folder = stack.use(await makeTemporaryFolder("keys"));
  const file = join(folder.path, "keys");
  const lines = Array.from({ length: keyCount }, (_, index) => `key-${index}:${keyOf(index)}`);
  await writeFile(file, lines.join("\n"), { mode: 0o600 });
  server = stack.use(
    await startHearth("smollm2-135m-instruct-q4_1.gguf", {
      HEARTH_API_KEYS_FILE: file,
      HEARTH_CONTEXT_LENGTH: "2048",
      HEARTH_PARALLEL_REQUESTS: "8",
      HEARTH_THREADS: "1",
    }),
  );
  await sendChat({ url: server.url, key: keyOf(0), prompt: "Hello", maxTokens: 8 });
}, 120_000);

/**
 * Requests per second of so many clients, of as many keys or of one. Raw prompts without a chat template have nothing in
 * common: with one, only clients of the same key share the cache of its first tokens, which is not about turns.
 */
async function measureThroughput(clients: number, keys: number): Promise<number> {
  const requests = requestsPerTurn(clients);
  let remaining = requests;
  const startedAt = performance.now();
  const run = async (index: number): Promise<void> => {
    while (remaining > 0) {
      remaining -= 1;
      const key = keyOf(index % keys);
      const chat = { url: server.url, key, prompt: uniquePrompt(20), maxTokens: 16, isRaw: true };
      expect((await sendChat(chat)).status).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, index) => run(index)));
  return (1000 * requests) / (performance.now() - startedAt);
}

test.each(clientCounts)(
  "%i clients of different keys have the throughput of as many of one key",
  {
    timeout: 900_000,
  },
  async (clients) => {
    const { ratio } = await compareInTurns({
      name: `fair-throughput-${clients}`,
      ours: { name: "keys", measure: () => measureThroughput(clients, clients) },
      theirs: { name: "one key", measure: () => measureThroughput(clients, 1) },
      turns,
    });
    const text = `${clients} clients: ${ratio.toFixed(3)} times the requests per second with a key each as with one key; needed 0.98`;
    recordFigure({ claim: "share 2", text });
    expect(ratio, text).toBeGreaterThanOrEqual(lowerBound(0.98));
  },
);
