import type { Message, ToolCall } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../../../test/start-test-server.ts";
import { baseRequest, lastConversation, post } from "../test/scripts.ts";

type Block = Readonly<Record<string, unknown>>;
type Turn = { readonly role: "user" | "assistant"; readonly content: readonly Block[] };
type Call = Omit<ToolCall, "id">;

const named = (name: string, more: object = {}) => ({
  name,
  description: `The tool ${name}`,
  input_schema: { type: "object", properties: { input: { type: "string" } } },
  ...more,
});
const twentyTools = [
  ...["Read", "ToolSearch"].map((name) => named(name)),
  ...Array.from({ length: 18 }, (_, index) => named(`Tool${index}`)),
];
/** As sent once the tool is found: in alphabetical order, so in the middle. */
const withFound = twentyTools.toSpliced(10, 0, named("WebFetch", { defer_loading: true }));

/** The calls of the fake engine, turn by turn. */
const calls: readonly (readonly Call[])[] = [
  [
    { name: "Read", arguments: { input: "report.pdf" } },
    { name: "Read", arguments: { input: "chart.png" } },
  ],
  [{ name: "ToolSearch", arguments: { input: "fetch" } }],
  [{ name: "WebFetch", arguments: { input: "https://a.example" } }],
];

const startSession = () =>
  startTestServer({
    models: { smol },
    readPdf: async () => "Revenue grew.",
    script: (_request, turn) => [
      ...(calls[turn - 1] ?? []).map((call) => ({
        do: "write" as const,
        text: `<tool_call>\n${JSON.stringify(call)}\n</tool_call>\n`,
      })),
      { do: "end", reason: "stop" },
    ],
  });

/** Sends the history as Claude Code does, and returns it with the answer. */
async function sendTurn(
  server: TestServer,
  history: readonly Turn[],
  tools: readonly object[],
): Promise<readonly Turn[]> {
  const response = await post(server, "/v1/messages?beta=true", {
    ...baseRequest,
    max_tokens: 32_000,
    system: [
      { type: "text", text: `x-anthropic-billing-header: cc_version=2.1.325; cch=${history.length}f;` },
      { type: "text", text: "You write code.", cache_control: { type: "ephemeral" } },
    ],
    messages: history,
    tools,
    thinking: { type: "adaptive" },
    metadata: { user_id: "user" },
  });
  expect(response.status).toBe(200);
  // Tests fail if the shape is different.
  const { content } = (await response.json()) as { readonly content: readonly Block[] };
  return [...history, { role: "assistant", content }];
}

const results = (history: readonly Turn[], contents: readonly (readonly Block[])[]): Turn => ({
  role: "user",
  content: contents.map((content, index) => ({
    type: "tool_result",
    tool_use_id: history.at(-1)?.content[index]?.["id"],
    content,
  })),
});

const source = (mediaType: string) => ({ type: "base64", media_type: mediaType, data: "JVBERi0xLjc=" });

/** The turn of calls as the engine receives it later. */
const callTurn = (turn: number): Message => ({
  role: "assistant",
  content: null,
  toolCalls: (calls[turn - 1] ?? []).map((call) => ({ id: expect.any(String), ...call })),
});
const resultTurn = (toolName: string, content: string): Message => ({
  role: "tool",
  content,
  toolCallId: expect.any(String),
  toolName,
});

test("a session of Claude Code with a PDF, an image and a found tool reaches the engine, and its prefix never changes", async () => {
  await using server = await startSession();
  const first: Turn[] = [{ role: "user", content: [{ type: "text", text: "Summarize the report" }] }];
  const called = await sendTurn(server, first, twentyTools);
  const read = results(called, [
    [
      { type: "text", text: "PDF file read: report.pdf" },
      { type: "document", title: "report.pdf", source: source("application/pdf") },
    ],
    [{ type: "image", source: source("image/png") }],
  ]);
  const searched = await sendTurn(server, [...called, read], twentyTools);
  const found = results(searched, [[{ type: "tool_reference", tool_name: "WebFetch" }]]);
  const fetched = await sendTurn(server, [...searched, found], withFound);

  const tools = twentyTools.map(({ input_schema: parameters, ...tool }) => ({ ...tool, parameters }));
  const { name, description, input_schema: parameters } = named("WebFetch");
  const expected: readonly Message[] = [
    { role: "system", content: "You write code." },
    { role: "user", content: "Summarize the report" },
    callTurn(1),
    resultTurn("Read", "PDF file read: report.pdf\n\nreport.pdf\nRevenue grew."),
    resultTurn("Read", "[There is an image here, but this model cannot see images.]"),
    callTurn(2),
    resultTurn("ToolSearch", JSON.stringify({ name, description, parameters })),
  ];
  expect(lastConversation(server)).toEqual({ messages: expected, tools });
  const conversations = server.requests.map(({ input }) => input);
  for (const [index, length] of [2, 5, 7].entries()) {
    expect(conversations[index]).toEqual({
      type: "conversation",
      conversation: { messages: expected.slice(0, length), tools },
    });
  }
  expect(fetched.at(-1)?.content).toEqual([
    {
      type: "tool_use",
      id: expect.stringMatching(/^toolu_/u),
      name: "WebFetch",
      input: { input: "https://a.example" },
    },
  ]);
});
