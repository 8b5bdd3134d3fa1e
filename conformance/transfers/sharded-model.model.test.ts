import { recordFigure } from "@hearth-and-keep/figures";
import { startModelHub, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { startTestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { splitGguf } from "./split-gguf.ts";

test("a model in three shards is pulled from the Hub and can chat", { timeout: 120_000 }, async () => {
  const shards = await splitGguf(await testModel("smollm2-135m-instruct-q4_1.gguf"), 3);
  const files = Object.fromEntries(
    shards.map((shard, index) => [`Q4_1/smol-Q4_1-0000${index + 1}-of-00003.gguf`, shard]),
  );
  await using hub = await startModelHub([{ name: "team/smol-gguf", files }], { pageSize: 2 });
  const { host } = new URL(hub.url);
  await using hearth = await startTestServer({
    models: {},
    privateRegistries: [host, new URL(hub.contentUrl).host],
  });
  const model = `${host}/team/smol-gguf:Q4_1`;

  const pulled = await post(`${hearth.url}/api/pull`, { model, insecure: true });
  const statuses = pulled.trimEnd().split("\n");
  expect(statuses.at(-1)).toBe('{"status":"success"}');
  for (const shard of shards) expect(pulled).toContain(`"total":${shard.length},"completed":${shard.length}`);

  const chat = await post(`${hearth.url}/api/chat`, {
    model,
    stream: false,
    messages: [{ role: "user", content: "What is the capital of France? Answer with one word." }],
    options: { num_predict: 12, temperature: 0, seed: 1 },
  });
  expect(chat).toMatch(/Paris/u);
  const downloads = hub.requests().filter(({ server }) => server === "content");
  expect(downloads.filter(({ isAuthorized }) => isAuthorized)).toEqual([]);
  recordFigure({
    claim: "store 10",
    text: `${shards.length} shards pulled from the Hub; the model can chat`,
    counted: { reached: shards.length, needed: 3 },
  });
});

async function post(url: string, body: unknown): Promise<string> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return response.text();
}
