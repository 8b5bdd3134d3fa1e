import { expect, test } from "vitest";
import { smol, startTestServer } from "../../../test/start-test-server.ts";
import { baseRequest, lastConversation, post, readMessage } from "../test/scripts.ts";

const tools = [
  { type: "bash_20250124", name: "bash" },
  { type: "text_editor_20250728", name: "str_replace_based_edit_tool", max_characters: 1000 },
  { type: "memory_20250818", name: "memory" },
  { type: "computer_20251124", name: "computer", display_width_px: 1024, display_height_px: 768 },
];

test("bash, the text editor, memory and computer never reach the model: they are defined, and their calls come back", async () => {
  const called = { name: "bash", arguments: { command: "ls" } };
  await using server = await startTestServer({
    models: { smol },
    script: () => [
      { do: "write", text: `<tool_call>\n${JSON.stringify(called)}\n</tool_call>` },
      { do: "end", reason: "stop" },
    ],
  });
  const message = await readMessage(await post(server, "/v1/messages", { ...baseRequest, tools }));
  expect(message).toMatchObject({
    content: [{ type: "tool_use", name: "bash", input: { command: "ls" } }],
    stop_reason: "tool_use",
  });
  const shown = lastConversation(server).tools ?? [];
  expect(shown.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
  expect(shown.every(({ description, parameters }) => description && parameters?.["properties"])).toBe(true);
  expect(server.logRecords().at(-1)).not.toHaveProperty("droppedTools");
  await post(server, "/v1/messages", {
    ...baseRequest,
    tools,
    tool_choice: { type: "tool", name: "memory" },
  });
  expect(server.requests.at(-1)?.constraint).toMatchObject({ tools: [{ name: "memory" }] });
});
