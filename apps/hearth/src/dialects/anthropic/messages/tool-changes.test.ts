import { expect, test } from "vitest";
import type { CountTokensBody } from "../schema.ts";
import { readConversation } from "./read-conversation.ts";
import { readToolChoice, readTools } from "./read-tools.ts";
import { Toolset } from "./toolset.ts";

type Messages = CountTokensBody["messages"];

const tool = (name: string, more: object = {}) => ({
  name,
  description: `Runs ${name}`,
  input_schema: { type: "object", properties: { path: { type: "string" } } },
  ...more,
});
const definitionOf = (name: string) => {
  const { description, input_schema: parameters } = tool(name);
  return JSON.stringify({ name, description, parameters });
};
const deferred = (name: string) => tool(name, { defer_loading: true });
const tools = [tool("Read"), deferred("WebFetch"), tool("Write"), deferred("Notebook")];

function read(messages: Messages, chatTemplate: string | null = null, declared: object[] = tools) {
  // Also tools that the static type of the schema does not allow.
  const { listed, deferred: hidden, droppedTools } = readTools(declared as CountTokensBody["tools"]);
  const toolset = new Toolset(listed, hidden);
  const context = { chatTemplate, images: undefined, pdfTexts: new Map(), toolset };
  const { messages: shown, skippedBlocks } = readConversation({ messages }, context);
  return { listed, toolset, droppedTools, shown, skippedBlocks };
}

const namesOf = (all: readonly { readonly name: string }[] | undefined) => all?.map(({ name }) => name);
const user = (content: string) => ({ role: "user", content }) as const;
const reference = (name: string): Messages[number] => ({
  role: "user",
  content: [
    { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "tool_reference", tool_name: name }] },
  ],
});
const change = (type: "tool_addition" | "tool_removal", name: string): Messages[number] => ({
  role: "system",
  content: [{ type, tool: { type: "tool_reference", name } }],
});

test("deferred tools are hidden, and the list stays the same when a message refers to one", () => {
  const before = read([user("Hi")]);
  expect(namesOf(before.listed)).toEqual(["Read", "Write"]);
  expect(before.toolset.changedTools).toBeUndefined();
  const after = read([user("Hi"), reference("WebFetch")]);
  expect(after.listed).toEqual(before.listed);
  expect(namesOf(after.toolset.changedTools)).toEqual(["Read", "Write", "WebFetch"]);
});

test("a tool reference reaches the model empty: it is the definition of the tool", () => {
  const { shown, skippedBlocks } = read([user("Hi"), reference("WebFetch")]);
  expect(shown.at(-1)).toMatchObject({ role: "tool", content: definitionOf("WebFetch") });
  expect(skippedBlocks).toEqual([]);
  const unknown = read([user("Hi"), reference("Browser")]);
  expect(unknown.shown.at(-1)).toMatchObject({ content: '[There is no tool "Browser".]' });
  expect([unknown.skippedBlocks, unknown.toolset.changedTools]).toEqual([["tool_reference"], undefined]);
});

test("the tools of a server-side search are all listed, because nothing here can search for them", () => {
  const search = { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" };
  const { listed, droppedTools } = read([user("Hi")], null, [search, ...tools]);
  expect(namesOf(listed)).toEqual(["Read", "WebFetch", "Write", "Notebook"]);
  expect(droppedTools).toEqual([search.type]);
});

test("tool_addition and tool_removal are skipped: they apply in order, and are shown where they are", () => {
  const definition = { ...tool("Deploy"), type: "custom" as const };
  const { shown, toolset, skippedBlocks } = read([
    user("One"),
    change("tool_addition", "Notebook"),
    user("Two"),
    change("tool_removal", "Read"),
    { role: "assistant", content: "Three" },
    {
      role: "system",
      content: [
        { type: "text", text: "Now deploy" },
        { type: "tool_addition", tool: { type: "tool_definition", definition } },
      ],
    },
    change("tool_removal", "Notebook"),
  ]);
  expect(shown).toEqual([
    user("One"),
    { role: "system", content: `This tool is available from now on: ${definitionOf("Notebook")}` },
    user("Two"),
    { role: "system", content: 'The tool "Read" is no longer available.' },
    { role: "assistant", content: "Three" },
    {
      role: "system",
      content: [
        "Now deploy",
        `This tool is available from now on: ${definitionOf("Deploy")}`,
        'The tool "Notebook" is no longer available.',
      ].join("\n\n"),
    },
  ]);
  expect(namesOf(toolset.changedTools)).toEqual(["Write", "Deploy"]);
  expect(skippedBlocks).toEqual([]);
});

test("for a template that may reject system messages, changed tools are shown in the user's turn", () => {
  const messages = [user("One"), change("tool_addition", "Notebook"), user("Two")];
  const { shown } = read(messages, "{{ raise_exception('no') }}");
  const added = `This tool is available from now on: ${definitionOf("Notebook")}`;
  expect(shown).toEqual([user(`One\n\n${added}\n\nTwo`)]);
});

test("changes to unknown tools and to those of MCP servers are skipped", () => {
  const changes = [
    { type: "tool_addition", tool: { type: "mcp_toolset_reference", server_name: "files" } },
    { type: "tool_removal", tool: { type: "mcp_tool_reference", server_name: "files", name: "find" } },
    { type: "tool_addition", tool: { type: "tool_reference", name: "Browser" } },
    { type: "tool_addition", tool: { type: "tool_definition", definition: { type: "web_search_20250305" } } },
  ];
  // References to MCP servers are not in the schema.
  const { shown, toolset, skippedBlocks } = read([user("Hi"), { role: "system", content: changes as never }]);
  expect([shown, toolset.changedTools]).toEqual([[user("Hi")], undefined]);
  expect(skippedBlocks).toEqual(changes.map(({ type }) => type));
});

test("examples of the input of a tool are part of its description", () => {
  const find = {
    name: "Find",
    input_schema: { type: "object" },
    input_examples: [{ text: "a" }, { text: "b" }],
  };
  const described = [find, { ...find, description: "Finds text" }].map((each) => readTools([each]).listed[0]);
  expect(described.map((each) => each?.description)).toEqual([
    'Examples of its input:\n{"text":"a"}\n{"text":"b"}',
    'Finds text\nExamples of its input:\n{"text":"a"}\n{"text":"b"}',
  ]);
});

test("tool_choice knows the tools that messages have added, and deferred ones by name", () => {
  const { toolset } = read([user("Hi"), reference("WebFetch")]);
  const choose = (name: string) => readToolChoice({ type: "tool", name }, toolset, { droppedTools: [] });
  expect(choose("WebFetch")).toEqual({ type: "required", toolName: "WebFetch" });
  expect(choose("Notebook")).toEqual({ type: "required", toolName: "Notebook" });
  expect(namesOf(toolset.changedTools)).toEqual(["Read", "Write", "WebFetch", "Notebook"]);
  expect(() => choose("Browser")).toThrow("request-invalid");
});
