import type { FakeEngineStep } from "@hearth-and-keep/engine/testing";
import type { ResponseStreamEvent, Tool } from "openai/resources/responses/responses";
import { expect, test } from "vitest";
import { messagesOf, startResponsesServer } from "./test/start-responses-server.ts";

const stop: FakeEngineStep = { do: "end", reason: "stop" };
const called = (name: string, ...texts: readonly string[]): readonly FakeEngineStep[] => [
  { do: "emit", event: { type: "tool-call-start", index: 0, id: "call_0", name } },
  ...texts.map(
    (argumentsText): FakeEngineStep => ({
      do: "emit",
      event: { type: "tool-call-delta", index: 0, argumentsText },
    }),
  ),
  stop,
];

const patch: Tool = {
  type: "custom",
  name: "apply_patch",
  description: "Edits files",
  format: { type: "grammar", syntax: "lark", definition: "start: /x/" },
};

async function streamOf(steps: readonly FakeEngineStep[], tools: Tool[]) {
  await using server = await startResponsesServer({ script: () => steps });
  const events: ResponseStreamEvent[] = [];
  const request = { model: "tiny", input: "Hello", tools, stream: true } as const;
  for await (const event of await server.client().responses.create(request)) events.push(event);
  const [request1] = server.requests;
  const conversation = request1?.input.type === "conversation" ? request1.input.conversation : undefined;
  return { events, tools: conversation?.tools };
}

test("a custom tool is offered as a function with one text, and its call is written with its own events", async () => {
  const { events, tools } = await streamOf(called("apply_patch", '{"input":"*** Be', 'gin\\n"}'), [patch]);
  expect(tools).toEqual([
    {
      name: "apply_patch",
      description: "Edits files\n\nThe input must match this lark grammar:\nstart: /x/",
      parameters: { type: "object", properties: { input: { type: "string" } }, required: ["input"] },
    },
  ]);
  expect(events.slice(2).map(({ type }) => type)).toEqual([
    "response.output_item.added",
    "response.custom_tool_call_input.delta",
    "response.custom_tool_call_input.done",
    "response.output_item.done",
    "response.completed",
  ]);
  const item = { type: "custom_tool_call", call_id: "call_0", name: "apply_patch", status: "completed" };
  expect(events[2]).toMatchObject({ item: { ...item, status: "in_progress", input: "" } });
  expect(events[3]).toMatchObject({ delta: "*** Begin\n", output_index: 0 });
  expect(events[4]).toMatchObject({ input: "*** Begin\n" });
  expect(events[5]).toMatchObject({ item: { ...item, input: "*** Begin\n" } });
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_event, index) => index));
});

test.each([
  ["no arguments", [], ""],
  ["another argument", ['{"patch":"x"}'], ""],
  ["an argument that is no text", ['{"input":[1]}'], "[1]"],
])("a custom tool called with %s has a text as its input", async (_title, texts, input) => {
  const { events } = await streamOf(called("apply_patch", ...texts), [patch]);
  expect(events.at(-1)).toMatchObject({
    type: "response.completed",
    response: { output: [{ type: "custom_tool_call", input }] },
  });
});

test("a search for tools that the client runs is offered, and its call has parsed arguments", async () => {
  const search = { type: "tool_search", execution: "client", description: "Finds tools" } as const;
  const { events, tools } = await streamOf(called("tool_search", '{"query":"mail"}'), [search]);
  expect(tools).toEqual([{ name: "tool_search", description: "Finds tools" }]);
  expect(events.at(-1)).toMatchObject({
    response: {
      output: [
        { type: "tool_search_call", execution: "client", call_id: "call_0", arguments: { query: "mail" } },
      ],
    },
  });
});

test("tools that the conversation introduces are offered, and tools that only a vendor runs are counted", async () => {
  await using server = await startResponsesServer({ script: () => [stop] });
  const look = { type: "function", name: "look", parameters: {} };
  await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    body: JSON.stringify({
      model: "tiny",
      tools: [{ type: "web_search" }, { type: "file_search", vector_store_ids: [] }, look],
      input: [
        { type: "additional_tools", role: "developer", tools: [{ ...look, name: "listen" }] },
        { type: "tool_search_output", call_id: "c1", tools: [{ ...look, description: "New" }] },
        { role: "user", content: "Hello" },
      ],
    }),
  });
  const [request] = server.requests;
  const tools = request?.input.type === "conversation" ? request.input.conversation.tools : [];
  expect(tools?.map(({ name, description }) => [name, description])).toEqual([
    ["look", "New"],
    ["listen", undefined],
  ]);
  await expect.poll(() => server.logRecord["droppedTools"]).toBe(2);
});

test("a tool that is found later is defined in place and can be called, and the list at the beginning stays the same", async () => {
  const listen = { type: "function", name: "listen", description: "Hears", parameters: { type: "object" } };
  const speak = { type: "namespace", name: "mcp__voice", tools: [{ ...listen, name: "speak" }] };
  await using server = await startResponsesServer({
    script: () => [
      { do: "write", text: '<tool_call>\n{"name": "mcp__voice__speak", "arguments": {}}\n</tool_call>' },
      stop,
    ],
    description: { splitsEvents: false },
  });
  const response = await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    body: JSON.stringify({
      model: "tiny",
      tools: [{ type: "function", name: "look", parameters: {} }],
      input: [
        { role: "user", content: "Hello" },
        { type: "additional_tools", role: "developer", tools: [listen] },
        { type: "tool_search_call", call_id: "c1", execution: "client", arguments: { query: "voice" } },
        { type: "tool_search_output", call_id: "c1", execution: "client", tools: [speak] },
      ],
    }),
  });
  expect(await response.json()).toMatchObject({
    output: [{ type: "function_call", name: "speak", namespace: "mcp__voice" }],
  });
  const [request] = server.requests;
  const { tools = [] } = request?.input.type === "conversation" ? request.input.conversation : {};
  expect(tools.map(({ name }) => name)).toEqual(["look"]);
  expect(messagesOf(request).map(({ content }) => content)).toEqual([
    "Hello",
    'These tools are available from now on:\n{"name":"listen","description":"Hears","parameters":{"type":"object"}}',
    null,
    'Tools found:\n{"name":"mcp__voice__speak","description":"Hears","parameters":{"type":"object"}}',
  ]);
});
