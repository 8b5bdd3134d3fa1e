import Anthropic from "@anthropic-ai/sdk";
import { recordFigure } from "@hearth-and-keep/figures";
import OpenAI, { toFile } from "openai";
import { expect, test } from "vitest";
import { smol, startTestServer } from "../apps/hearth/src/test/start-test-server.ts";

const prompts = ["Name a color.", "Count to three.", "Say hello."];
const options = { timeout: 60_000 };

/** One request at a time: output can depend on what runs beside it. */
function startServer() {
  return startTestServer({ models: { smol }, limits: { sequences: 1 }, seed: 7 });
}

test("Anthropic's client: a batch on real weights has the messages of the same requests sent directly", async () => {
  await using server = await startServer();
  const { messages } = new Anthropic({ baseURL: `${server.url}/alt`, apiKey: "none", maxRetries: 0 });
  const params = prompts.map((content) => ({
    model: "smol",
    max_tokens: 12,
    messages: [{ role: "user" as const, content }],
  }));
  const direct: string[] = [];
  for (const each of params) direct.push(JSON.stringify((await messages.create(each)).content));
  const requests = params.map((each, index) => ({ custom_id: `request-${index}`, params: each }));
  const { id } = await messages.batches.create({ requests });
  await expect
    .poll(async () => (await messages.batches.retrieve(id)).processing_status, options)
    .toBe("ended");
  const results = await Array.fromAsync(await messages.batches.results(id));
  const batched = results.map(({ result }) => JSON.stringify(Object(result).message?.content));
  expect(batched).toEqual(direct);
  recordFigure({
    claim: "agents 5",
    text: `${batched.length} of ${prompts.length} messages of a batch on real weights equal those sent directly`,
    counted: { reached: batched.length, needed: prompts.length },
  });
});

test("OpenAI's client: a batch on real weights has the completions of the same requests sent directly", async () => {
  await using server = await startServer();
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
  const bodies = prompts.map((content) => ({
    model: "smol",
    max_tokens: 12,
    seed: 11,
    messages: [{ role: "user" as const, content }],
  }));
  const direct: string[] = [];
  for (const body of bodies)
    direct.push(String((await client.chat.completions.create(body)).choices[0]?.message.content));
  const url = "/v1/chat/completions";
  const lines = bodies.map((body, index) =>
    JSON.stringify({ custom_id: `${index}`, method: "POST", url, body }),
  );
  const file = await toFile(Buffer.from(lines.join("\n")), "requests.jsonl");
  const { id: input_file_id } = await client.files.create({ file, purpose: "batch" });
  const { id } = await client.batches.create({ input_file_id, endpoint: url, completion_window: "24h" });
  await expect.poll(async () => (await client.batches.retrieve(id)).status, options).toBe("completed");
  const { output_file_id } = await client.batches.retrieve(id);
  const output = await (await client.files.content(String(output_file_id))).text();
  const batched = output
    .trim()
    .split("\n")
    .map((line) => String(JSON.parse(line).response.body.choices[0].message.content));
  expect(batched).toEqual(direct);
  recordFigure({
    claim: "agents 5",
    text: `${batched.length} of ${prompts.length} completions of a batch on real weights equal those sent directly`,
    counted: { reached: batched.length, needed: prompts.length },
  });
});
