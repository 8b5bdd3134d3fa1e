import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { messagesOf, startResponsesServer } from "./test/start-responses-server.ts";

const script: FakeEngineScript = () => [
  { do: "write", text: "Hello" },
  { do: "end", reason: "stop" },
];

const user = { role: "user", content: "Hello" };

/** Sends a history and returns the messages that the engine gets. */
async function sendItems(items: readonly object[], options: { readonly hasVision?: boolean } = {}) {
  await using server = await startResponsesServer({ script, ...options });
  const response = await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    body: JSON.stringify({ model: "tiny", input: [user, ...items] }),
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  await expect.poll(() => server.logRecord["stopReason"]).toBe("stop");
  return { messages: messagesOf(server.requests[0]).slice(1), logRecord: server.logRecord };
}

const calls = (id: string, name: string, written: object) => ({
  role: "assistant",
  content: null,
  toolCalls: [{ id, name, arguments: written }],
});
const result = (toolCallId: string, toolName: string, content: string) => ({
  role: "tool",
  content,
  toolCallId,
  toolName,
});

test.each([
  [
    "a custom tool",
    { type: "custom_tool_call", id: "ctc_1", call_id: "c1", name: "patch", input: "*** Begin" },
    { type: "custom_tool_call_output", call_id: "c1", output: "done" },
    [calls("c1", "patch", { input: "*** Begin" }), result("c1", "patch", "done")],
  ],
  [
    "a shell",
    { type: "shell_call", call_id: "c1", action: { commands: ["ls"], timeout_ms: 5 }, status: "completed" },
    {
      type: "shell_call_output",
      call_id: "c1",
      output: [{ stdout: "a", stderr: "b", outcome: { type: "exit", exit_code: 1 } }],
    },
    [calls("c1", "shell", { commands: ["ls"], timeout_ms: 5 }), result("c1", "shell", "a\nb\n[exit code 1]")],
  ],
  [
    "a local shell",
    {
      type: "local_shell_call",
      id: "lsh_1",
      call_id: "c1",
      action: { type: "exec", command: ["ls"] },
    },
    { type: "local_shell_call_output", id: "c1", output: "a" },
    [calls("c1", "local_shell", { type: "exec", command: ["ls"] }), result("c1", "local_shell", "a")],
  ],
  [
    "a patch",
    { type: "apply_patch_call", call_id: "c1", operation: { type: "delete_file", path: "a" } },
    { type: "apply_patch_call_output", call_id: "c1", status: "failed", output: "no such file" },
    [
      calls("c1", "apply_patch", { type: "delete_file", path: "a" }),
      result("c1", "apply_patch", "failed\nno such file"),
    ],
  ],
  [
    "a search for tools",
    { type: "tool_search_call", call_id: "c1", execution: "client", arguments: { query: "mail" } },
    {
      type: "tool_search_output",
      call_id: "c1",
      execution: "client",
      tools: [{ type: "function", name: "send", parameters: {} }],
    },
    [
      calls("c1", "tool_search", { query: "mail" }),
      result("c1", "tool_search", 'Tools found:\n{"name":"send","parameters":{}}'),
    ],
  ],
])("the history of %s is shown as a function call and its result", async (...[, call, output, expected]) => {
  expect((await sendItems([call, output])).messages).toEqual(expected);
});

test("what a vendor ran is shown as text, and an MCP call with its output", async () => {
  const { messages } = await sendItems([
    { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "cats" } },
    {
      type: "file_search_call",
      id: "fs_1",
      queries: ["dogs"],
      results: [{ filename: "a.txt", text: "woof" }],
    },
    { type: "code_interpreter_call", id: "ci_1", code: "1+1", outputs: [{ type: "logs", logs: "2" }] },
    { type: "image_generation_call", id: "ig_1", result: "aGVsbG8=", status: "completed" },
    {
      type: "mcp_call",
      id: "mcp_1",
      server_label: "s",
      name: "look",
      arguments: '{"at":1}',
      output: "a cat",
    },
  ]);
  expect(messages).toEqual([
    {
      role: "assistant",
      content: [
        "[Web search: cats]",
        "[File search: dogs]\na.txt: woof",
        "[Ran this code]\n1+1\n[Its output]\n2",
        "[Generated an image]",
      ].join("\n"),
      toolCalls: [{ id: "mcp_1", name: "look", arguments: { at: 1 } }],
    },
    { role: "tool", content: "a cat", toolCallId: "mcp_1", toolName: "look" },
  ]);
});

test("a list of an MCP server without types → 500: its tools are not offered, whatever they are", async () => {
  const tools = [{ name: "a", input_schema: {} }, null, 7];
  const { messages, logRecord } = await sendItems([
    { type: "mcp_list_tools", id: "mcpl_1", server_label: "s", tools },
  ]);
  expect(messages).toEqual([]);
  expect(logRecord).toMatchObject({ status: 200, skippedBlocks: 1 });
  expect(logRecord).not.toHaveProperty("droppedTools");
});

test("items that mean nothing to a model are skipped, counted in the log, and never rejected", async () => {
  const { messages, logRecord } = await sendItems([
    { type: "compaction", encrypted_content: "gAAA" },
    { type: "mcp_list_tools", id: "mcpl_1", server_label: "s", tools: [{ name: "a", input_schema: {} }] },
    { type: "mcp_approval_request", id: "mcpr_1", arguments: "{}", name: "a", server_label: "s" },
    { type: "configuration_update", reasoning: { effort: "low" } },
    { type: "of_the_future", content: { anything: [1] }, output: 7, summary: "text", call_id: 9 },
    { type: "constructor" },
  ]);
  expect(messages).toEqual([]);
  expect(logRecord).toMatchObject({ skippedBlocks: 6 });
});

test("hostile fields of foreign items do not fail the request", async () => {
  const types = ["shell_call", "shell_call_output", "mcp_call", "web_search_call", "file_search_call"];
  const values = [null, 7, "text", [], [null], {}, { a: [[]] }];
  const fields = ["action", "output", "arguments", "queries", "results", "error", "call_id", "id"];
  const items = types.flatMap((type) =>
    fields.flatMap((field) => values.map((value) => ({ type, [field]: value }))),
  );
  expect((await sendItems(items)).messages.length).toBeGreaterThan(0);
});

const png =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const lookCall = { type: "function_call", call_id: "c1", name: "look", arguments: "{}" };
const output = (...parts: readonly object[]) => ({
  type: "function_call_output",
  call_id: "c1",
  output: parts,
});
const image = (image_url: string) => ({ type: "input_image", detail: "auto", image_url });
const text = { type: "input_text", text: "Here" };

test("an image in a tool result reaches a model with vision, after the results of its turn", async () => {
  const other = { ...lookCall, call_id: "c2" };
  const second = { type: "function_call_output", call_id: "c2", output: "none" };
  const { messages } = await sendItems([lookCall, other, output(text, image(png)), second], {
    hasVision: true,
  });
  expect(messages).toMatchObject([
    { role: "assistant" },
    { role: "tool", content: "Here", toolCallId: "c1" },
    { role: "tool", content: "none", toolCallId: "c2" },
    { role: "user", content: "", images: [{ mediaType: "image/png" }] },
  ]);
});

test("an image in a tool result is replaced by a sentence for a model without vision, instead of a 400", async () => {
  const { messages } = await sendItems([lookCall, output(text, image(png))]);
  expect(messages[1]).toEqual(
    result("c1", "look", "Here\n[An image is left out here, because this model cannot see it]"),
  );
});

test("an unreadable image, a URL, a PDF and an unknown part in a tool result do not end the conversation", async () => {
  const parts = [
    image("data:image/png;base64,AAAA"),
    image("https://example.com/cat.png"),
    { type: "input_image", file_id: "file_1" },
    { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,/w==" },
    { type: "of_the_future" },
  ];
  const { messages } = await sendItems([lookCall, output(...parts)], { hasVision: true });
  const lines = messages[1]?.content?.split("\n") ?? [];
  expect(lines).toHaveLength(5);
  for (const line of lines)
    expect(line).toMatch(/^\[.* is left out here, because (?:this model cannot|it could not) .*\]$/u);
});

test("of many images in tool results the newest are shown", async () => {
  const parts = Array.from({ length: 30 }, () => image(png));
  const { messages } = await sendItems([lookCall, output(...parts)], { hasVision: true });
  expect(messages[2]).toMatchObject({ role: "user", images: { length: 16 } });
  expect(messages[1]?.content?.split("\n")).toHaveLength(14);
});

const omitted = "[An image is left out here, because this model cannot see it]";
const reply = { role: "assistant", content: "I cannot see it" };
const shown = (...images: readonly string[]) => ({
  role: "user",
  content: [{ type: "input_text", text: "Look" }, ...images.map(image)],
});

test("an image that a text-only model rejected → 400 in every later turn of Codex: only the newest message is rejected", async () => {
  await using server = await startResponsesServer({ script });
  const send = (...input: readonly object[]) =>
    fetch(`${server.url}/v1/responses`, { method: "POST", body: JSON.stringify({ model: "tiny", input }) });
  const rejected = await send(shown(png));
  expect([rejected.status, await rejected.text()]).toEqual([400, expect.stringContaining("vision")]);
  const later = await send(shown(png), reply, user);
  expect([later.status, later.headers.get("hearth-ignored")]).toEqual([200, 'blocks=("input_image")']);
  expect(messagesOf(server.requests[0])[0]).toEqual({ role: "user", content: `Look\n${omitted}` });
});

test("images in earlier messages are shown if they can be read, and never fail a later turn", async () => {
  const broken = ["data:image/png;base64,AAAA", "https://example.com/gone.png", "file:///etc/passwd"];
  const history = [shown(png, ...broken), { ...shown(), content: [{ type: "input_image", file_id: "f" }] }];
  const { messages } = await sendItems([...history, reply, user], { hasVision: true });
  expect(messages).toMatchObject([
    { content: ["Look", omitted, omitted, omitted].join("\n"), images: [{ mediaType: "image/png" }] },
    { content: omitted },
    { content: "I cannot see it" },
    { content: "Hello" },
  ]);
});

const many = (length: number) => shown(...Array.from({ length }, () => png));

test("images of earlier turns give way to those of the newest message", async () => {
  const { messages } = await sendItems([many(20), reply, many(16)], { hasVision: true });
  expect(messages[0]?.content).toBe(["Look", ...Array.from({ length: 20 }, () => omitted)].join("\n"));
  expect(messages[2]).toMatchObject({ images: { length: 16 } });
});
