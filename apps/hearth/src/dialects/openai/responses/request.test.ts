import type { Script } from "@hearth-and-keep/engine/testing";
import type { Tool } from "openai/resources/responses/responses";
import { expect, test } from "vitest";
import { messagesOf, startResponsesServer } from "./test/start-responses-server.ts";

const script: Script = () => [
  { do: "say", text: "Hello" },
  { do: "end", reason: "stop" },
];

/** Sends a body as it is, past the client's types, and tells what the engine got. */
async function ask(body: object) {
  await using server = await startResponsesServer({ script });
  const answer = await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    body: JSON.stringify({ model: "tiny", input: "Hello", ...body }),
  });
  // Either shape is looked into below.
  const value = (await answer.json()) as { error?: { param: string | null; message: string } };
  const [request] = server.requests;
  const conversation = request?.input.type === "conversation" ? request.input.conversation : undefined;
  return { status: answer.status, value, request, conversation };
}

const user = { role: "user", content: "Hello" };

test("instructions and the developer role are the system text, not dropped", async () => {
  const { request } = await ask({
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

test("thoughts, text and calls of one turn are one message; results keep their call and its name", async () => {
  const { request } = await ask({
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

test("a text file in the request is read with its name; bytes that are no text are refused", async () => {
  const { request } = await ask({ input: [{ role: "user", content: [file(Buffer.from("Grüße"))] }] });
  expect(messagesOf(request)).toEqual([{ role: "user", content: "note.txt:\nGrüße" }]);
  const refused = await ask({ input: [{ role: "user", content: [file(Buffer.from([0xff, 0xfe]))] }] });
  expect(refused).toMatchObject({ status: 400, value: { error: { param: "input.0.content.0.file_data" } } });
});

const image = (image_url: string) => ({
  input: [{ role: "user", content: [{ type: "input_image", detail: "auto", image_url }] }],
});

test("an image for a model without eyes is refused as such, whether it is sent or named", async () => {
  for (const url of ["data:image/png;base64,iVBORw0KGgo=", "https://example.com/cat.png"]) {
    const { status, value } = await ask(image(url));
    expect([status, value.error?.message]).toEqual([400, expect.stringContaining("vision")]);
  }
});

test.each([
  ["an item reference", { input: [{ type: "item_reference", id: "msg_1" }] }, "input.0.type"],
  ["an unknown item", { input: [{ type: "mystery" }] }, "input.0.type"],
  [
    "an unknown part",
    { input: [{ role: "user", content: [{ type: "mystery" }] }] },
    "input.0.content.0.type",
  ],
  ["a message of nobody", { input: [{ content: "Hello" }] }, "input.0.role"],
  ["a result without its call", { input: [user, { type: "function_call_output" }] }, "input.1.call_id"],
  ["a call without its name", { input: [{ type: "function_call", call_id: "1" }] }, "input.0.name"],
  ["an empty list", { input: [] }, "input"],
  ["no input", { input: undefined }, ""],
  ["a temperature over the bound", { temperature: 3 }, "temperature"],
  ["a demanded call without functions", { tool_choice: "required" }, "tool_choice"],
  ["a function that is not there", { tool_choice: { type: "function", name: "x" } }, "tool_choice.name"],
  ["a tool of another machine", { tool_choice: { type: "web_search" } }, "tool_choice.type"],
  ["a format without its schema", { text: { format: { type: "json_schema" } } }, "text.format.schema"],
  ["work in the background", { background: true }, "background"],
  ["a conversation kept elsewhere", { conversation: "conv_1" }, "conversation"],
  ["a prompt kept elsewhere", { prompt: { id: "pmpt_1" } }, "prompt"],
])("%s is refused by its place", async (_what, body, place) => {
  const { status, value, request } = await ask(body);
  expect(status).toBe(400);
  expect(value.error?.param ?? "").toBe(place);
  expect(request).toBeUndefined();
});

test("fields that nobody knows, and nulls for all that may be left out, are no mistake", async () => {
  const { status } = await ask({
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

test("a tool's schema reaches the engine unchanged; tools of other machines are left out", async () => {
  const { conversation } = await ask({
    tools: [look, { type: "web_search" }, { type: "custom", name: "x" }],
  });
  const { name, description, parameters } = look;
  expect(conversation?.tools).toEqual([{ name, description, parameters }]);
});

test("functions of a namespace are shown with its name, and called back by both", async () => {
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
])("tool choice %j is followed, not ignored", async (choice, shown, forced) => {
  const tools = [look, { ...look, name: "listen" }];
  const { conversation, request } = await ask({ tools, tool_choice: choice });
  expect(conversation?.tools?.map(({ name }) => name)).toEqual(shown);
  const constraint = request?.constraint;
  const names = constraint?.type === "tool-calls" ? constraint.tools.map(({ name }) => name) : undefined;
  expect(names).toEqual(forced);
});

const format = async (value: object) => (await ask({ text: { format: value } })).request?.constraint;

test("formats of the answer become constraints, plain text none", async () => {
  const schema = { type: "object", properties: { a: { type: "number" } } };
  expect(await format({ type: "json_schema", name: "a", schema })).toEqual({ type: "json-schema", schema });
  expect(await format({ type: "json_object" })).toEqual({ type: "json" });
  expect(await format({ type: "text" })).toBeUndefined();
});

test("an effort asks a thinking model to think as much as its template knows, none forbids it", async () => {
  const high = await ask({ reasoning: { effort: "xhigh", summary: "auto" } });
  expect(high.conversation).toMatchObject({
    thinking: true,
    templateVariables: { reasoning_effort: "high" },
  });
  expect((await ask({ reasoning: { effort: "none" } })).conversation?.thinking).toBe(false);
  expect((await ask({})).conversation).not.toHaveProperty("thinking");
});

test("what the request sets reaches the engine; what it leaves out is the server's default", async () => {
  const set = await ask({ temperature: 0.1, top_p: 0.2, max_output_tokens: 5, top_k: 3, seed: 9 });
  expect(set.request).toMatchObject({
    mostTokens: 5,
    sampling: { temperature: 0.1, topP: 0.2, topK: 3, seed: 9 },
  });
  expect(set.value).toMatchObject({ temperature: 0.1, top_p: 0.2, max_output_tokens: 5 });
  const left = await ask({});
  expect(left.request).toMatchObject({
    mostTokens: 4096,
    sampling: { temperature: 0.7, topP: 0.9, topK: 40, repeatPenalty: 1.1, frequencyPenalty: 0 },
  });
  expect(left.value).toMatchObject({ temperature: 0.7, top_p: 0.9, max_output_tokens: null });
});

test("truncation auto leaves the oldest turns out of a conversation that is too long", async () => {
  const long = Array.from({ length: 4 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index} ${"word ".repeat(25)}`,
  }));
  const input = [...long, user];
  const cut = await ask({ input, truncation: "auto" });
  expect(messagesOf(cut.request).length).toBeLessThan(input.length);
  expect(messagesOf(cut.request).at(-1)).toEqual(user);
  expect(messagesOf((await ask({ input })).request)).toHaveLength(input.length);
});
