import { expect, test } from "vitest";
import type { CountTokensBody } from "../schema.ts";
import { readConversation } from "./read-conversation.ts";
import { imageSources } from "./read-images.ts";

type Messages = CountTokensBody["messages"];

const read = (messages: Messages, system?: CountTokensBody["system"], template: string | null = null) =>
  readConversation(
    { messages, ...(system === undefined ? {} : { system }) },
    { chatTemplate: template, images },
  );

/** Images by the fields that the tests use. */
const images = new Map(
  ["messages.0.content.0", "messages.0.content.0.content.0"].map((field) => [
    field,
    { bytes: Buffer.from([1, 2, 3]), mediaType: "image/png" },
  ]),
);

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

test("text documents are passed on as text, and other documents are rejected", () => {
  const shown = "Notes\nThe sky is blue\n\nSum up";
  expect(document({ type: "text", data: "The sky is blue" })).toBe(shown);
  expect(document({ type: "content", content: "The sky is blue" })).toBe(shown);
  expect(document({ type: "content", content: [{ type: "text", text: "The sky is blue" }] })).toBe(shown);
  const encoded = Buffer.from("The sky is blue").toString("base64");
  expect(document({ type: "base64", media_type: "text/plain", data: encoded })).toBe(shown);
  expect(() => document({ type: "base64", media_type: "application/pdf", data: encoded })).toThrow(
    "request-invalid",
  );
  expect(() => document({ type: "url", url: "http://example.com/a.pdf" })).toThrow("request-invalid");
  expect(() => document({ type: "content", content: [{ type: "image", source: {} }] })).toThrow(
    "request-invalid",
  );
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
  expect(skippedBlocks).toBe(1);
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
  const startedAt = performance.now();
  expect(read(messages).messages).toHaveLength(50_000);
  expect(performance.now() - startedAt).toBeLessThan(5000);
});
