import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import type { Tool } from "openai/resources/responses/responses";
import { expect, test } from "vitest";
import { messagesOf, startResponsesServer } from "./test/start-responses-server.ts";

const script: FakeEngineScript = () => [
  { do: "write", text: "Hello" },
  { do: "end", reason: "stop" },
];

/** Sends a raw body and returns the engine request or the error. */
async function sendBody(body: object) {
  await using server = await startResponsesServer({ script });
  const response = await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    body: JSON.stringify({ model: "tiny", input: "Hello", ...body }),
  });
  // Both shapes are checked below.
  const value = (await response.json()) as { error?: { param: string | null; message: string } };
  const [request] = server.requests;
  const conversation = request?.input.type === "conversation" ? request.input.conversation : undefined;
  return { status: response.status, value, request, conversation };
}

const user = { role: "user", content: "Hello" };

test("instructions and developer messages become the system prompt and are not dropped", async () => {
  const { request } = await sendBody({
    instructions: "Be kind",
    input: [{ role: "developer", content: "Be short" }, user, { role: "developer", content: "Now" }],
  });
  expect(messagesOf(request)).toEqual([
    { role: "system", content: "Be kind\n\nBe short" },
    user,
    { role: "system", content: "Now" },
  ]);
});

const call = (id: string, name: string, text: string) => ({
  type: "function_call",
  call_id: id,
  name,
  arguments: text,
});

test("reasoning, text and calls of one turn become one message; results keep their call and its name", async () => {
  const { request } = await sendBody({
    input: [
      user,
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm" }] },
      {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "Wait", annotations: [] }],
      },
      call("call_1", "look", '{"at":1}'),
      call("call_2", "listen", ""),
      { type: "function_call_output", call_id: "call_1", output: "a cat" },
      {
        type: "function_call_output",
        call_id: "call_2",
        output: [
          { type: "input_text", text: "me" },
          { type: "input_text", text: "ow" },
        ],
      },
    ],
  });
  expect(messagesOf(request)).toEqual([
    user,
    {
      role: "assistant",
      content: "Wait",
      reasoning: "Hm",
      toolCalls: [
        { id: "call_1", name: "look", arguments: { at: 1 } },
        { id: "call_2", name: "listen", arguments: {} },
      ],
    },
    { role: "tool", content: "a cat", toolCallId: "call_1", toolName: "look" },
    { role: "tool", content: "me\now", toolCallId: "call_2", toolName: "listen" },
  ]);
});

const file = (bytes: Buffer) => ({
  type: "input_file",
  filename: "note.txt",
  file_data: `data:text/plain;base64,${bytes.toString("base64")}`,
});

test("a text file in the request is read with its name; other files are rejected", async () => {
  const { request } = await sendBody({ input: [{ role: "user", content: [file(Buffer.from("Grüße"))] }] });
  expect(messagesOf(request)).toEqual([{ role: "user", content: "note.txt:\nGrüße" }]);
  const rejected = await sendBody({ input: [{ role: "user", content: [file(Buffer.from([0xff, 0xfe]))] }] });
  expect(rejected).toMatchObject({ status: 400, value: { error: { param: "input.0.content.0.file_data" } } });
});

const image = (image_url: string) => ({
  input: [{ role: "user", content: [{ type: "input_image", detail: "auto", image_url }] }],
});

test("an image for a model without vision is rejected, whether it is inline or a URL", async () => {
  for (const url of ["data:image/png;base64,iVBORw0KGgo=", "https://example.com/cat.png"]) {
    const { status, value } = await sendBody(image(url));
    expect([status, value.error?.message]).toEqual([400, expect.stringContaining("vision")]);
  }
});

test.each([
  [
    "an unknown part",
    { input: [{ role: "user", content: [{ type: "mystery" }] }] },
    "input.0.content.0.type",
  ],
  ["a message without a role", { input: [{ content: "Hello" }] }, "input.0.role"],
  ["a result without its call", { input: [user, { type: "function_call_output" }] }, "input.1.call_id"],
  ["a call without its name", { input: [{ type: "function_call", call_id: "1" }] }, "input.0.name"],
  ["an empty list", { input: [] }, "input"],
  ["no input", { input: undefined }, ""],
  ["a temperature above the maximum", { temperature: 3 }, "temperature"],
  ["a required call without functions", { tool_choice: "required" }, "tool_choice"],
  ["an unknown function", { tool_choice: { type: "function", name: "x" } }, "tool_choice.name"],
  ["a hosted tool", { tool_choice: { type: "web_search" } }, "tool_choice.type"],
  ["a format without its schema", { text: { format: { type: "json_schema" } } }, "text.format.schema"],
  ["a background response", { background: true }, "background"],
  ["a stored conversation", { conversation: "conv_1" }, "conversation"],
  ["a stored prompt", { prompt: { id: "pmpt_1" } }, "prompt"],
])("%s is rejected by its field", async (_title, body, field) => {
  const { status, value, request } = await sendBody(body);
  expect(status).toBe(400);
  expect(value.error?.param ?? "").toBe(field);
  expect(request).toBeUndefined();
});

test("unknown fields and nulls for optional fields are accepted", async () => {
  const { status } = await sendBody({
    include: ["reasoning.encrypted_content"],
    prompt_cache_key: "x",
    service_tier: "auto",
    tools: null,
    tool_choice: null,
    text: null,
    reasoning: { effort: null, summary: null },
    metadata: null,
    previous_response_id: null,
    background: false,
    temperature: null,
    conversation: null,
  });
  expect(status).toBe(200);
});

const look: Tool = {
  type: "function",
  name: "look",
  description: "Looks",
  parameters: { type: "object", properties: { at: { anyOf: [{ $ref: "#/$defs/a" }] } }, $defs: { a: {} } },
  strict: true,
};

test("a tool's schema reaches the engine unchanged, and hosted tools are dropped", async () => {
  const { conversation } = await sendBody({ tools: [look, { type: "web_search" }] });
  const { name, description, parameters } = look;
  expect(conversation?.tools).toEqual([{ name, description, parameters, isStrict: true }]);
});

test("functions of a namespace have its name as a prefix, and calls return both", async () => {
  await using server = await startResponsesServer({
    script: () => [
      { do: "emit", event: { type: "tool-call-start", index: 0, id: "call_1", name: "eyes__look" } },
      { do: "end", reason: "stop" },
    ],
  });
  const response = await server.client().responses.create({
    model: "tiny",
    input: "Look",
    tools: [
      { type: "namespace", name: "eyes", description: "", tools: [{ type: "function", name: "look" }] },
    ],
  });
  expect(response.output).toMatchObject([{ type: "function_call", namespace: "eyes", name: "look" }]);
});

test.each([
  ["none", [], undefined],
  ["auto", ["look", "listen"], undefined],
  ["required", ["look", "listen"], ["look", "listen"]],
  [{ type: "function", name: "listen" }, ["listen"], ["listen"]],
  [{ type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "look" }] }, ["look"], undefined],
])("tool choice %j is respected", async (choice, shown, forced) => {
  const tools = [look, { ...look, name: "listen" }];
  const { conversation, request } = await sendBody({ tools, tool_choice: choice });
  expect(conversation?.tools?.map(({ name }) => name)).toEqual(shown);
  const constraint = request?.constraint;
  const names = constraint?.type === "tool-calls" ? constraint.tools.map(({ name }) => name) : undefined;
  expect(names).toEqual(forced);
});

const format = async (value: object) => (await sendBody({ text: { format: value } })).request?.constraint;

test("output formats become constraints, except plain text", async () => {
  const schema = { type: "object", properties: { a: { type: "number" } } };
  expect(await format({ type: "json_schema", name: "a", schema })).toEqual({ type: "json-schema", schema });
  expect(await format({ type: "json_object" })).toEqual({ type: "json" });
  expect(await format({ type: "text" })).toBeUndefined();
});

test("an effort makes a thinking model think as much as its template supports, and none turns it off", async () => {
  const high = await sendBody({ reasoning: { effort: "xhigh", summary: "auto" } });
  expect(high.conversation).toMatchObject({
    thinking: true,
    templateVariables: { reasoning_effort: "high" },
  });
  expect((await sendBody({ reasoning: { effort: "none" } })).conversation?.thinking).toBe(false);
  expect((await sendBody({})).conversation).not.toHaveProperty("thinking");
});

test("settings of the request reach the engine, and the server's defaults apply otherwise", async () => {
  const set = await sendBody({ temperature: 0.1, top_p: 0.2, max_output_tokens: 5, top_k: 3, seed: 9 });
  expect(set.request).toMatchObject({
    maxTokens: 5,
    sampling: { temperature: 0.1, topP: 0.2, topK: 3, seed: 9 },
  });
  expect(set.value).toMatchObject({ temperature: 0.1, top_p: 0.2, max_output_tokens: 5 });
  const left = await sendBody({});
  expect(left.request).toMatchObject({
    maxTokens: Number.MAX_SAFE_INTEGER,
    sampling: { temperature: 0.7, topP: 0.9, topK: 40, repeatPenalty: 1.1, frequencyPenalty: 0 },
  });
  expect(left.value).toMatchObject({ temperature: 0.7, top_p: 0.9, max_output_tokens: null });
});

test("truncation auto drops the oldest turns of a conversation that is too long", async () => {
  const long = Array.from({ length: 4 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index} ${"word ".repeat(25)}`,
  }));
  const input = [...long, user];
  const cut = await sendBody({ input, truncation: "auto" });
  expect(messagesOf(cut.request).length).toBeLessThan(input.length);
  expect(messagesOf(cut.request).at(-1)).toEqual(user);
  expect(messagesOf((await sendBody({ input })).request)).toHaveLength(input.length);
});
