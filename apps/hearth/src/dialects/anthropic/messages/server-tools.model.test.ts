import { expect, test } from "vitest";
import type { TestServer } from "../../../test/start-test-server.ts";
import {
  baseRequest,
  lastConversation,
  post,
  prompt,
  readEvents,
  readMessage,
  startFakeServer,
  text,
  weather,
} from "../test/scripts.ts";

const start = () => startFakeServer([prompt(3, 0), text("The weather in Bonn is fine")]);
const send = async (server: TestServer, more: object) =>
  readMessage(await post(server, "/v1/messages", { ...baseRequest, ...more }));
const search = { type: "web_search_20250305", name: "web_search", max_uses: 8 };
const choose = (name: string) => ({ tool_choice: { type: "tool", name } });

test("invented web search results: a search that is the only tool fails as unavailable, and the model is not run", async () => {
  await using server = await start();
  const id = expect.stringMatching(/^srvtoolu_\w{32}$/u);
  const expected = {
    type: "message",
    content: [
      { type: "server_tool_use", id, name: "web_search", input: {}, caller: { type: "direct" } },
      {
        type: "web_search_tool_result",
        tool_use_id: id,
        content: { type: "web_search_tool_result_error", error_code: "unavailable" },
        caller: { type: "direct" },
      },
    ],
    stop_reason: "end_turn",
    stop_sequence: null,
  };
  for (const more of [
    {},
    { tool_choice: { type: "auto" } },
    { tool_choice: { type: "any" } },
    choose("web_search"),
  ]) {
    expect(await send(server, { tools: [search], ...more })).toMatchObject(expected);
  }
  expect(await send(server, { tools: [weather, search], ...choose("web_search") })).toMatchObject(expected);
  expect(server.requests).toEqual([]);
  expect(server.logRecords().at(-1)).toMatchObject({ droppedTools: 1, status: 200 });
});

test("a failed search is streamed in the order that clients expect", async () => {
  await using server = await start();
  const events = await readEvents(
    await post(server, "/v1/messages", { ...baseRequest, stream: true, tools: [search] }),
  );
  expect(events.map(({ name }) => name)).toEqual([
    "message_start",
    "ping",
    "content_block_start",
    "content_block_stop",
    "content_block_start",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
  expect(events[4]?.content).toMatchObject({ index: 1, content_block: { type: "web_search_tool_result" } });
  expect(events.at(-2)?.content).toMatchObject({ delta: { stop_reason: "end_turn" } });
});

test("each kind of server tool fails with its own result", async () => {
  await using server = await start();
  const kinds = [
    ["web_search_20260318", "web_search", "web_search"],
    ["web_fetch_20250910", "web_fetch", "web_fetch"],
    ["code_execution_20250825", "code_execution", "code_execution"],
    ["tool_search_tool_regex_20251119", "tool_search_tool_regex", "tool_search"],
    ["tool_search_tool_bm25", "tool_search_tool_bm25", "tool_search"],
    ["advisor_20260301", "advisor", "advisor"],
  ];
  for (const [type, name, result] of kinds) {
    const { content } = await send(server, { tools: [{ type, name }] });
    expect(content).toMatchObject([
      { type: "server_tool_use", name },
      {
        type: `${result}_tool_result`,
        content: { type: `${result}_tool_result_error`, error_code: "unavailable" },
      },
    ]);
  }
  const toolset = { type: "mcp_toolset", mcp_server_name: "files" };
  expect((await send(server, { tools: [toolset, weather], ...choose("find") })).content).toMatchObject([
    { type: "mcp_tool_use", name: "find", server_name: "files" },
    { type: "mcp_tool_result", is_error: true },
  ]);
  expect(server.requests).toEqual([]);
});

test("server tools beside other tools are hidden from the model, which answers", async () => {
  await using server = await start();
  const answer = { content: [{ type: "text" }], stop_reason: "end_turn" };
  expect(await send(server, { tools: [search, weather] })).toMatchObject(answer);
  expect(lastConversation(server).tools?.map(({ name }) => name)).toEqual(["weather"]);
  expect(server.logRecords().at(-1)).toMatchObject({ droppedTools: 1 });
  expect(await send(server, { tools: [search], tool_choice: { type: "none" } })).toMatchObject(answer);
  expect(await send(server, { tools: [search, { type: "mcp_toolset" }] })).toMatchObject(answer);
  await send(server, { tools: [search, weather], ...choose("weather") });
  expect(server.requests.at(-1)?.constraint).toMatchObject({ tools: [{ name: "weather" }] });
});

test("count_tokens accepts a request that requires a server tool", async () => {
  await using server = await start();
  const { max_tokens: _, ...counted } = { ...baseRequest, tools: [search], ...choose("web_search") };
  expect((await post(server, "/v1/messages/count_tokens", counted)).status).toBe(200);
});
