import { expect, test } from "vitest";
import { smol, startTestServer } from "../../../test/start-test-server.ts";
import { baseRequest, hello, lastConversation, post, readMessage, weather } from "../test/scripts.ts";

const clock = {
  ...weather,
  name: "clock",
  description: "Tells the time in the city that you name",
  defer_loading: true,
};
const found = [
  hello,
  { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "weather", input: {} }] },
  {
    role: "user",
    content: [
      {
        type: "tool_result",
        tool_use_id: "toolu_1",
        content: [{ type: "tool_reference", tool_name: "clock" }],
      },
    ],
  },
];

const callsClock = `<tool_call>\n${JSON.stringify({ name: "clock", arguments: { city: "Bonn" } })}\n</tool_call>`;
const start = (splitsEvents = false) =>
  startTestServer({
    models: { smol },
    description: { splitsEvents },
    script: () => [
      { do: "write", text: callsClock },
      { do: "end", reason: "stop" },
    ],
  });

test("a tool inserted in the middle of the list changes the cached prefix: a found tool can be called with the same list", async () => {
  await using server = await start();
  await post(server, "/v1/messages", { ...baseRequest, tools: [weather] });
  const { tools: before } = lastConversation(server);
  const tools = [clock, weather];
  const message = await readMessage(
    await post(server, "/v1/messages", { ...baseRequest, tools, messages: found }),
  );
  expect(message).toMatchObject({
    content: [{ type: "tool_use", name: "clock", input: { city: "Bonn" } }],
    stop_reason: "tool_use",
  });
  const { tools: after, messages } = lastConversation(server);
  expect(after).toEqual(before);
  expect(messages.at(-1)).toMatchObject({ role: "tool", content: expect.stringContaining("Tells the time") });
  await post(server, "/v1/messages", {
    ...baseRequest,
    tools,
    messages: found,
    tool_choice: { type: "tool", name: "clock" },
  });
  expect(lastConversation(server).tools).toEqual(before);
  expect(server.requests.at(-1)?.constraint).toMatchObject({ tools: [{ name: "clock" }] });
});

test("an engine that parses calls itself gets the found tools at the end of the list", async () => {
  await using server = await start(true);
  await post(server, "/v1/messages", { ...baseRequest, tools: [clock, weather], messages: found });
  expect(lastConversation(server).tools?.map(({ name }) => name)).toEqual(["weather", "clock"]);
});

test("count_tokens counts the definitions of found tools", async () => {
  await using server = await start();
  const count = async (tools: readonly object[]) => {
    const body = { model: "smol", tools, messages: found };
    const response = await post(server, "/v1/messages/count_tokens", body);
    // Tests fail if the shape is different.
    return ((await response.json()) as { readonly input_tokens: number }).input_tokens;
  };
  expect(await count([weather, clock])).toBeGreaterThan(await count([weather]));
});
