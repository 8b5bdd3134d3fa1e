import type { EngineRequest } from "@hearth-and-keep/engine";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { expect, test } from "vitest";
import { openResponseStore } from "./open-response-store.ts";
import {
  messagesOf,
  type ResponsesServer,
  type ResponsesServerOptions,
  startResponsesServer,
  storeOf,
} from "./test/start-responses-server.ts";

const model = "tiny";
const summary = "The user likes the number seven";
const stop = { do: "end", reason: "stop" } as const;

const isSummaryRequest = (request: EngineRequest): boolean =>
  messagesOf(request).at(-1)?.content?.includes("summarize this conversation") === true;

const script: FakeEngineScript = (request) => [
  { do: "write", text: isSummaryRequest(request) ? summary : "Noted" },
  stop,
];

const call = { type: "function_call", call_id: "c1", name: "look", arguments: "{}" } as const;
const output = { type: "function_call_output", call_id: "c1", output: "x".repeat(10_000) } as const;
const history: ResponseInputItem[] = [
  { role: "user", content: "Remember seven" },
  { type: "message", role: "assistant", content: "Noted" },
  { role: "user", content: [{ type: "input_text", text: "Look it up" }] },
  call,
  output,
];

/** The prompt of a summary alone takes more than the default of these tests. */
function startServer(options: Partial<ResponsesServerOptions> = {}): Promise<ResponsesServer> {
  return startResponsesServer({
    script,
    keys: ["mine", "other"],
    limits: { contextTokens: 4096 },
    ...options,
  });
}

async function contentsOf(server: ResponsesServer, body: object): Promise<readonly unknown[]> {
  const response = await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: "Bearer mine" },
    body: JSON.stringify({ model, ...body }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  return messagesOf(server.requests.at(-1)).map(({ role, content }) => [role, content]);
}

const summarized = [
  ["user", "Remember seven\n\nLook it up"],
  ["assistant", `Summary of the conversation so far:\n${summary}`],
];

test("a conversation is compacted to the messages of the user and a sealed summary, which a later request continues", async () => {
  await using server = await startServer();
  const { responses } = server.client("mine");
  const compacted = await responses.compact({ model, input: history, instructions: "Be brief" });
  expect(compacted).toMatchObject({ id: expect.stringMatching(/^resp_/u), object: "response.compaction" });
  expect(compacted.usage).toMatchObject({ output_tokens: expect.any(Number), input_tokens_details: {} });
  expect(compacted.output).toMatchObject([
    { type: "message", role: "user", content: [{ type: "input_text", text: "Remember seven" }] },
    { type: "message", role: "user", content: [{ type: "input_text", text: "Look it up" }] },
    { type: "compaction", encrypted_content: expect.stringMatching(/^[\w.-]+$/u) },
  ]);
  expect(JSON.stringify(compacted)).not.toContain(summary);
  // The summary is written from the whole conversation, with long output of tools shortened.
  const [asked] = server.requests;
  expect(messagesOf(asked).map(({ role }) => role)).toEqual([
    "system",
    "user",
    "assistant",
    "user",
    "assistant",
    "tool",
    "user",
  ]);
  expect(messagesOf(asked)[5]?.content?.length).toBeLessThan(5000);
  const input = [...compacted.output, { role: "user", content: "Which number?" }];
  expect(await contentsOf(server, { input })).toEqual([...summarized, ["user", "Which number?"]]);
});

test("a summary means nothing to another key, and is named as ignored", async () => {
  await using server = await startServer();
  const { output: items } = await server.client("mine").responses.compact({ model, input: history });
  const response = await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: "Bearer other" },
    body: JSON.stringify({ model, input: [...items, { role: "user", content: "Which number?" }] }),
  });
  expect([response.status, response.headers.get("hearth-ignored")]).toEqual([200, 'blocks=("compaction")']);
  expect(JSON.stringify(messagesOf(server.requests.at(-1)))).not.toContain(summary);
  const reasoning = {
    type: "reasoning",
    summary: [],
    encrypted_content: Object(items.at(-1)).encrypted_content,
  };
  await contentsOf(server, { input: [reasoning, { role: "user", content: "Think" }] });
  expect(JSON.stringify(messagesOf(server.requests.at(-1)))).not.toContain(summary);
});

test("a stored response is compacted by its id, and a trigger as the last item does the same in a response", async () => {
  await using server = await startServer({ responses: storeOf() });
  const { responses } = server.client("mine");
  const first = await responses.create({ model, input: "Remember seven" });
  const { output: items } = await responses.compact({ model, previous_response_id: first.id });
  expect(items.map(({ type }) => type)).toEqual(["message", "compaction"]);
  const input: ResponseInputItem[] = [
    { role: "user", content: "Look it up" },
    { type: "compaction_trigger" },
  ];
  const stream = await responses.create({ model, input, previous_response_id: first.id, stream: true });
  const events: string[] = [];
  let last: unknown;
  for await (const event of stream) {
    events.push(event.type);
    last = event;
  }
  expect(events).toEqual([
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.compaction.compacting",
    "response.output_item.done",
    "response.completed",
  ]);
  expect(last).toMatchObject({ response: { output: [{ type: "compaction" }] } });
  const { id } = Object(last).response;
  expect(await contentsOf(server, { input: "Which number?", previous_response_id: id })).toEqual([
    ...summarized,
    ["user", "Which number?"],
  ]);
});

test("a summary on a server with stored responses on disk is understood after a restart", async () => {
  await using folder = await makeTemporaryFolder("compact");
  const limits = { maxResponses: 8, maxBytes: 1_000_000, maxTotalBytes: 1_000_000, idleSeconds: 60 };
  const files = {
    folder: `${folder.path}/responses`,
    keyFile: `${folder.path}/key`,
    onSkip: () => undefined,
  };
  const start = async () => startServer({ responses: await openResponseStore(limits, files) });
  await using before = await start();
  const { output: items } = await before.client("mine").responses.compact({ model, input: history });
  await using after = await start();
  const input = [...items, { role: "user", content: "Which number?" }];
  expect(await contentsOf(after, { input })).toEqual([...summarized, ["user", "Which number?"]]);
});

test("without a summary the client is told, so that it keeps its conversation", async () => {
  await using server = await startServer({ script: () => [stop] });
  const compacted = server.client("mine").responses.compact({ model, input: history });
  await expect(compacted).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("no summary"),
  });
});

test("a thinking model does not think about a summary, and calls no tools", async () => {
  await using server = await startServer({
    script: (request) => [
      { do: "emit", event: { type: "reasoning-delta", text: "Hm" } },
      ...script(request, 1),
    ],
    description: { templateCapabilities: { tools: true, thinking: true } },
  });
  const tools = [{ type: "function", name: "look", parameters: {}, strict: false }] as const;
  const input: ResponseInputItem[] = [...history, { type: "compaction_trigger" }];
  const { responses } = server.client("mine");
  const response = await responses.create({ model, input, tools: [...tools], tool_choice: "required" });
  expect(response.output.map(({ type }) => type)).toEqual(["compaction"]);
  const [request] = server.requests;
  const conversation = request?.input.type === "conversation" ? request.input.conversation : undefined;
  expect([conversation?.tools ?? [], conversation?.thinking ?? false]).toEqual([[], false]);
  expect(request?.maxTokens).toBe(2048);
});
