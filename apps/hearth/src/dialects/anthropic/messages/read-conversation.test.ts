import { startProcessorClock } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import type { CountTokensBody } from "../schema.ts";
import { readConversation } from "./read-conversation.ts";
import { imageSources } from "./read-images.ts";
import { Toolset } from "./toolset.ts";

type Messages = CountTokensBody["messages"];

const read = (messages: Messages, system?: CountTokensBody["system"], template: string | null = null) =>
  readConversation(
    { messages, ...(system === undefined ? {} : { system }) },
    { chatTemplate: template, images, pdfTexts, toolset: new Toolset([], []) },
  );

/** Images by the fields that the tests use. */
const images = new Map(
  ["messages.0.content.0", "messages.0.content.0.content.0"].map((field) => [
    field,
    { bytes: Buffer.from([1, 2, 3]), mediaType: "image/png" },
  ]),
);

const pdfTexts = new Map([["messages.0.content.0", "Page one"]]);

const header = (value: string) => `x-anthropic-billing-header: cc_version=2.1.9; cch=${value};`;

const history = (input: unknown): Messages => [
  { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "weather", input }] },
];

const document = (source: object) =>
  read([
    {
      role: "user",
      // The schema's type does not allow invalid input.
      content: [{ type: "document", title: "Notes", source } as never, { type: "text", text: "Sum up" }],
    },
  ]).messages[0]?.content;

const argumentsOf = (input: unknown) => {
  const [first] = read(history(input)).messages;
  return first?.role === "assistant" ? first.toolCalls?.[0]?.arguments : undefined;
};

test("consecutive messages of one role become one turn", () => {
  const { messages } = read([
    { role: "user", content: "One" },
    { role: "user", content: [{ type: "text", text: "Two" }] },
    { role: "assistant", content: "Three, " },
    { role: "assistant", content: "four" },
  ]);
  expect(messages).toEqual([
    { role: "user", content: "One\n\nTwo" },
    { role: "assistant", content: "Three, four" },
  ]);
});

test("a system prompt may be a string or blocks", () => {
  const system = [
    { type: "text" as const, text: "Be brief" },
    { type: "text" as const, text: "Be kind" },
  ];
  const turn = { role: "user", content: "Hi" } as const;
  expect(read([turn], "Be brief").messages).toEqual([{ role: "system", content: "Be brief" }, turn]);
  expect(read([turn], system).messages).toEqual([{ role: "system", content: "Be brief\n\nBe kind" }, turn]);
});

test("role:system inside messages → 400: it is accepted and stays in place", () => {
  const messages: Messages = [
    { role: "user", content: "One" },
    { role: "assistant", content: "Two" },
    { role: "system", content: "Now in French" },
    { role: "user", content: "Three" },
  ];
  expect(read(messages).messages).toEqual(messages);
});

test("for a template that may raise an exception, system messages move to the beginning", () => {
  const messages: Messages = [
    { role: "user", content: "One" },
    { role: "system", content: "Now in French" },
    { role: "user", content: "Two" },
  ];
  expect(read(messages, "Be brief", "{{ raise_exception('no') }}").messages).toEqual([
    { role: "system", content: "Be brief\n\nNow in French" },
    { role: "user", content: "One\n\nTwo" },
  ]);
});

test("a system message that is cleared is shown until the next user's message", () => {
  const temporary = { role: "system", content: "Hurry", clear_at: "next_user_message" } as const;
  const turn = { role: "user", content: "One" } as const;
  expect(read([turn, temporary]).messages).toEqual([turn, { role: "system", content: "Hurry" }]);
  expect(read([turn, temporary, { role: "user", content: "Two" }]).messages).toEqual([
    { role: "user", content: "One\n\nTwo" },
  ]);
});

test("only a system message may have no content", () => {
  const turn = { role: "user", content: "One" } as const;
  expect(read([turn, { role: "system", output_config: { effort: "low" } }]).messages).toEqual([turn]);
  expect(() => read([{ role: "user" }])).toThrow(
    expect.objectContaining({ failure: expect.objectContaining({ field: "messages.0.content" }) }),
  );
});

test("the changing billing header at the start of the system prompt is removed, and nothing else", () => {
  const turn = { role: "user", content: "Hi" } as const;
  const asBlocks = (value: string) =>
    read(
      [turn],
      [
        { type: "text", text: header(value) },
        { type: "text", text: "You write code" },
      ],
    ).messages;
  expect(asBlocks("a1b2c")).toEqual([{ role: "system", content: "You write code" }, turn]);
  expect(asBlocks("a1b2c")).toEqual(asBlocks("ffff0"));
  expect(read([turn], `${header("0")}\nYou write code`).messages[0]?.content).toBe("You write code");
  expect(read([turn], `${header("0")}You write code`).messages[0]?.content).toBe("You write code");
  expect(read([turn], "See x-anthropic-billing-header: a=b;").messages[0]?.content).toBe(
    "See x-anthropic-billing-header: a=b;",
  );
});

test("tool results come before the user's text, each with the name of its tool", () => {
  const { messages } = read([
    { role: "user", content: "Weather?" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Ask the tool" },
        { type: "redacted_thinking" },
        { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Bonn" } },
        { type: "tool_use", id: "toolu_2", name: "clock", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "text", text: "And now?" },
        { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "Rain" }] },
        { type: "tool_result", tool_use_id: "toolu_2", content: "no clock", is_error: true },
      ],
    },
  ]);
  expect(messages.slice(1)).toEqual([
    {
      role: "assistant",
      content: null,
      reasoning: "Ask the tool",
      toolCalls: [
        { id: "toolu_1", name: "weather", arguments: { city: "Bonn" } },
        { id: "toolu_2", name: "clock", arguments: {} },
      ],
    },
    { role: "tool", content: "Rain", toolCallId: "toolu_1", toolName: "weather" },
    { role: "tool", content: "Error: no clock", toolCallId: "toolu_2", toolName: "clock" },
    { role: "user", content: "And now?" },
  ]);
});

test("string or empty arguments in history → 400: they are accepted, and anything but an object is rejected", () => {
  expect([undefined, null, "", "{}", {}].map(argumentsOf)).toEqual([{}, {}, {}, {}, {}]);
  expect(argumentsOf('{"city":"Bonn"}')).toEqual({ city: "Bonn" });
  for (const input of ["no json", [1], 7]) {
    expect(() => read(history(input))).toThrow(
      expect.objectContaining({ failure: expect.objectContaining({ field: "messages.0.content.0.input" }) }),
    );
  }
});

test("documents are passed on as text after their title, and a sentence replaces those that cannot be read", () => {
  const shown = "Notes\nThe sky is blue\n\nSum up";
  expect(document({ type: "text", data: "The sky is blue" })).toBe(shown);
  expect(document({ type: "content", content: "The sky is blue" })).toBe(shown);
  expect(document({ type: "content", content: [{ type: "text", text: "The sky is blue" }] })).toBe(shown);
  const encoded = Buffer.from("The sky is blue").toString("base64");
  expect(document({ type: "base64", media_type: "text/plain", data: encoded })).toBe(shown);
  expect(document({ type: "base64", media_type: "application/pdf", data: encoded })).toBe(
    "Notes\nPage one\n\nSum up",
  );
  const unreadable = /^Notes\n\[This document could not be read: .*\]\n\nSum up$/u;
  expect(document({ type: "url", url: "http://example.com/a.pdf" })).toMatch(unreadable);
  expect(document({ type: "base64", media_type: "text/plain", data: "*" })).toMatch(unreadable);
});

test("images in a document are attached to the turn", () => {
  const image = {
    type: "image" as const,
    source: { type: "url" as const, url: "https://example.com/a.png" },
  };
  const content = [{ type: "text" as const, text: "Figure 1" }, image];
  const sent: Messages = [
    { role: "user", content: [{ type: "document", source: { type: "content", content } }] },
  ];
  const field = "messages.0.content.0.source.content.1";
  expect(imageSources(sent)).toEqual([{ field, url: "https://example.com/a.png" }]);
  const image1 = { bytes: Buffer.from([1]), mediaType: "image/png" };
  const toolset = new Toolset([], []);
  const options = { chatTemplate: null, pdfTexts, images: new Map([[field, image1]]), toolset };
  expect(readConversation({ messages: sent }, options).messages).toEqual([
    { role: "user", content: "Figure 1", images: [image1] },
  ]);
});

test("an image is found by its field, and an unknown source is rejected", () => {
  const source = { type: "base64" as const, media_type: "image/PNG", data: "AQID" };
  const sent: Messages = [{ role: "user", content: [{ type: "image", source }] }];
  expect(imageSources(sent)).toEqual([
    { field: "messages.0.content.0", base64: "AQID", declaredType: "image/png" },
  ]);
  expect(read(sent).messages).toEqual([{ role: "user", content: "", images: [...images.values()].slice(1) }]);
  // A type that is not in the schema.
  const other = { type: "file", file_id: "file_1" } as never;
  expect(() => imageSources([{ role: "user", content: [{ type: "image", source: other }] }])).toThrow(
    "request-invalid",
  );
});

const countIn = (messages: Messages) => imageSources(messages).length;

test("the seventeenth screenshot of an agent → 400 for ever: the oldest images are left out, eight at a time", () => {
  const image = {
    type: "image" as const,
    source: { type: "url" as const, url: "https://example.com/a.png" },
  };
  const turns = (count: number) =>
    Array.from({ length: count }, () => ({ role: "user" as const, content: [image] }));
  expect([16, 17, 24, 25].map((count) => countIn(turns(count)))).toEqual([16, 9, 16, 9]);
  expect(imageSources(turns(17))[0]).toMatchObject({ field: "messages.8.content.0" });
  // Those of the last message are never left out; `readImages` rejects too many.
  const many = Array.from({ length: 17 }, () => image);
  expect(countIn([...turns(3), { role: "user", content: many }])).toBe(17);
  const { messages, skippedBlocks } = read([
    { role: "user", content: [{ type: "text", text: "See" }, image] },
  ]);
  expect(messages).toEqual([
    { role: "user", content: "See\n\n[There was an image here; only the newest are shown, at most 16.]" },
  ]);
  expect(skippedBlocks).toEqual(["image"]);
});

test("images in a tool result are attached to the turn", () => {
  const source = { type: "base64" as const, media_type: "image/png", data: "AQID" };
  const { messages } = read([
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "image", source }] }],
    },
  ]);
  expect(messages.map(({ role }) => role)).toEqual(["tool", "user"]);
  expect(messages[1]).toHaveProperty("images.length", 1);
});

test("blocks of unknown types are skipped and counted, and a turn without other blocks is dropped", () => {
  const { messages, skippedBlocks } = read([
    { role: "user", content: "Hi" },
    // A type that is not in the schema.
    { role: "user", content: [{ type: "mcp_thing" } as never] },
    { role: "assistant", content: "Hello" },
  ]);
  expect(messages).toEqual([
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello" },
  ]);
  expect(skippedBlocks).toEqual(["mcp_thing"]);
});

test("blocks of unknown types in the system prompt and in results are skipped and counted", () => {
  // Types that are not in the schema.
  const unknown = { type: "mystery", text: "?" } as never;
  const text = { type: "text", text: "Be brief" } as const;
  const found = { title: "Sky", source: "a.txt", content: [unknown, text] };
  const searched = { type: "search_result" as const, ...found };
  const { messages, skippedBlocks } = read(
    [
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: [unknown, text, searched] },
          { type: "document", source: { type: "content", content: [unknown, text] } },
        ],
      },
    ],
    [unknown, text],
  );
  expect(messages).toEqual([
    { role: "system", content: "Be brief" },
    { role: "tool", toolCallId: "toolu_1", content: "Be brief\n\nSky\na.txt\nBe brief" },
    { role: "user", content: "Be brief" },
  ]);
  expect(skippedBlocks).toEqual(Array.from({ length: 4 }, () => "mystery"));
});

test("calls and results of server tools in the history are lines of text", () => {
  const results = [
    { type: "web_search_result", title: "Sky", url: "https://a.example", encrypted_content: "x" },
  ];
  const blocks = [
    { type: "text", text: "Searching" },
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "sky" } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: results },
    { type: "mcp_tool_use", id: "mcptoolu_1", name: "find", server_name: "files", input: {} },
    { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", content: "two\nlines" },
    {
      type: "code_execution_tool_result",
      content: { type: "code_execution_tool_result_error", error_code: "unavailable" },
    },
    { type: "text", text: "Blue" },
  ];
  // The types of results are not enumerated in the schema.
  const { messages, skippedBlocks } = read([{ role: "assistant", content: blocks as never }]);
  expect(messages[0]?.content?.split("\n")).toEqual([
    "Searching",
    '[Called web_search with {"query":"sky"}]',
    '[web_search returned [{"type":"web_search_result","title":"Sky","url":"https://a.example"}]]',
    "[Called find with {}]",
    '[mcp returned "two\\nlines"]',
    "[code_execution failed: unavailable]",
    "Blue",
  ]);
  expect(skippedBlocks).toEqual([]);
});

test("search results are passed on with their title and source", () => {
  const content: Messages[number]["content"] = [
    { type: "search_result", title: "Sky", source: "a.txt", content: [{ type: "text", text: "Blue" }] },
  ];
  expect(read([{ role: "user", content }]).messages[0]?.content).toBe("Sky\na.txt\nBlue");
});

test("a history of a hundred thousand messages is read quickly", () => {
  const word = "word ".repeat(100);
  const messages = Array.from({ length: 100_000 }, (_, index): Messages[number] => ({
    role: index < 50_000 || index % 2 === 0 ? "user" : "assistant",
    content: word,
  }));
  const elapsed = startProcessorClock();
  expect(read(messages).messages).toHaveLength(50_000);
  expect(elapsed()).toBeLessThan(5000);
});
