import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fetchAgent } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { pixel } from "../client-fixture.ts";
import {
  agentKey,
  countImages,
  failFirst,
  fillContext,
  hasTools,
  longPrompt,
  messagesOf,
  printCall,
  repeatResult,
  scriptOf,
  textModel,
  toolResultsOf,
  visionModel,
  write,
} from "./agent-server.ts";
import {
  launchAgent,
  mcpCommand,
  openWorkspace,
  type ProgramResult,
  reportFile,
  runProgram,
  type Workspace,
} from "./run-program.ts";
import { countFlows, flowTimeout } from "./test-flows.ts";

const { folder, version } = await fetchAgent("claude");
const quiet = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" };

/** `claude -p` with the settings of `hearth launch claude`, and every tool allowed that its sandbox needs. */
async function runClaude(
  workspace: Workspace,
  args: readonly string[],
  model: string = textModel,
): Promise<ProgramResult> {
  const all = ["-p", "--output-format", "json", "--permission-mode", "acceptEdits", ...args];
  return launchAgent(workspace, all, { name: "claude", folder, model, environment: quiet });
}

/** What a run prints that ended well. */
function resultOf({ code, output, errors }: ProgramResult): unknown {
  expect(code, output + errors).toBe(0);
  const result: unknown = JSON.parse(output);
  expect(result).toMatchObject({ subtype: "success", is_error: false, permission_denials: [] });
  return result;
}

const allowed = (tools: string): readonly string[] => ["--allowedTools", tools];
const shell = (command: string): string => printCall("Bash", { command, description: "Runs it" });

async function writesFile(): Promise<void> {
  const call = shell("echo from-the-tool > written.txt && cat written.txt");
  await using workspace = await openWorkspace(scriptOf(call, repeatResult));
  const expected = { num_turns: 2, stop_reason: "end_turn", result: "The tool said: from-the-tool" };
  const { url } = workspace.server;
  const plain = await runProgram(join(folder, "claude"), {
    workspace,
    args: ["-p", "hi", "--model", textModel, "--output-format", "json", ...allowed("Bash")],
    environment: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: agentKey, ...quiet },
  });
  expect(resultOf(plain)).toMatchObject(expected);
  expect(await workspace.read("written.txt")).toBe("from-the-tool\n");
  expect(resultOf(await runClaude(workspace, ["hi", ...allowed("Bash")]))).toMatchObject(expected);
  const calls = workspace.server.logRecords().filter(({ route }) => String(route).endsWith("/v1/messages"));
  expect(new Set(calls.map(({ status, keyName }) => `${String(status)} ${String(keyName)}`))).toEqual(
    new Set(["200 default"]),
  );
  const routes = new Set(calls.map(({ route }) => route));
  expect(routes).toEqual(new Set(["POST /v1/messages", "POST /alt/v1/messages"]));
}

/** Reads both files, searches for a tool that is not listed, and calls it. */
async function readsPdfAndImage(): Promise<void> {
  const read = (name: string): string => printCall("Read", { file_path: join(work, name) });
  let work = "";
  await using workspace = await openWorkspace(
    scriptOf(
      () => read("report.pdf"),
      () => read("chart.png"),
      printCall("ToolSearch", { query: "select:WebSearch" }),
      printCall("WebSearch", { query: "weather in Bonn" }),
      "Done",
    ),
  );
  ({ work } = workspace);
  await workspace.write("report.pdf", await readFile(reportFile));
  await workspace.write("chart.png", Buffer.from(pixel, "base64"));
  const args = ["-p", "Do your work", "--output-format", "json", ...allowed("Read,ToolSearch,WebSearch")];
  const launched = await launchAgent(workspace, args, {
    name: "claude",
    folder,
    environment: { ...quiet, ENABLE_TOOL_SEARCH: "true" },
  });
  expect(resultOf(launched)).toMatchObject({ result: "Done" });
  const { requests } = workspace.server;
  const [pdf = "", image, tool = "", search] = toolResultsOf(requests.findLast(hasTools));
  expect(pdf).toMatch(/^PDF file read: .*report\.pdf .*prices fell by 7 %/su);
  expect(image).toBe("[There is an image here, but this model cannot see images.]");
  expect(JSON.parse(tool)).toMatchObject({ name: "WebSearch", parameters: { type: "object" } });
  expect(search).toContain("Web search error: unavailable");
  const lists = requests
    .filter(hasTools)
    .map(({ input }) => JSON.stringify(input.type === "conversation" && input.conversation.tools));
  expect(new Set(lists).size).toBe(1);
}

async function reportsFailedCommand(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf(shell("echo no; exit 3"), repeatResult));
  const result = resultOf(await runClaude(workspace, ["Run the tests", ...allowed("Bash")]));
  expect(result).toMatchObject({ result: expect.stringMatching(/Exit code 3\s+no/u) });
}

async function runsTwoCommands(): Promise<void> {
  const calls = shell("echo first") + shell("echo second");
  await using workspace = await openWorkspace(scriptOf(calls, "Both ran"));
  const result = resultOf(await runClaude(workspace, ["Run both", ...allowed("Bash")]));
  expect(result).toMatchObject({ result: "Both ran" });
  const results = toolResultsOf(workspace.server.requests.findLast(hasTools));
  // In the order in which the commands ended.
  expect(results.toSorted()).toEqual(["first", "second"]);
}

async function continuesSession(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("I remember seven", "It was seven"));
  resultOf(await runClaude(workspace, ["Remember the number seven"]));
  const result = resultOf(await runClaude(workspace, ["--continue", "Which number was it?"]));
  expect(result).toMatchObject({ result: "It was seven" });
  const last = workspace.server.requests.findLast(hasTools);
  const contents = (last === undefined ? [] : messagesOf(last)).map(({ content }) => String(content));
  expect(contents.join("\n")).toMatch(/Remember the number seven.*I remember seven.*Which number was it\?/su);
}

async function editsFile(): Promise<void> {
  let work = "";
  const path = (): string => join(work, "notes.txt");
  await using workspace = await openWorkspace(
    scriptOf(
      () => printCall("Read", { file_path: path() }),
      () => printCall("Edit", { file_path: path(), old_string: "old", new_string: "new" }),
      "Changed",
    ),
  );
  ({ work } = workspace);
  await workspace.write("notes.txt", "old\n");
  expect(resultOf(await runClaude(workspace, ["Change the notes"]))).toMatchObject({ result: "Changed" });
  expect(await workspace.read("notes.txt")).toBe("new\n");
}

async function seesImage(): Promise<void> {
  let work = "";
  await using workspace = await openWorkspace(
    scriptOf(() => printCall("Read", { file_path: join(work, "chart.png") }), "A chart"),
  );
  ({ work } = workspace);
  await workspace.write("chart.png", Buffer.from(pixel, "base64"));
  const result = resultOf(await runClaude(workspace, ["Look at chart.png"], visionModel));
  expect(result).toMatchObject({ result: "A chart" });
  expect(countImages(workspace.server.requests.findLast(hasTools))).toBe(1);
}

async function callsMcpTool(): Promise<void> {
  const tool = "mcp__harbours__tide";
  await using workspace = await openWorkspace(scriptOf(printCall(tool, { harbour: "Bergen" }), repeatResult));
  const [command, file] = mcpCommand;
  const settings = JSON.stringify({ mcpServers: { harbours: { command, args: [file] } } });
  const args = ["When is high tide?", "--mcp-config", settings, ...allowed(tool)];
  expect(resultOf(await runClaude(workspace, args))).toMatchObject({
    result: "The tool said: High tide at 14:05",
  });
}

async function startsSubagent(): Promise<void> {
  const call = printCall("Agent", {
    description: "Count files",
    prompt: "Count the files here",
    subagent_type: "general-purpose",
    run_in_background: false,
  });
  const main = scriptOf(call, repeatResult);
  await using workspace = await openWorkspace((request, turn) => {
    const isSubagent = messagesOf(request).some(
      ({ role, content }) => role === "user" && content?.includes("Count the files here"),
    );
    return isSubagent ? write("Three files") : main(request, turn);
  });
  expect(resultOf(await runClaude(workspace, ["Ask another agent"]))).toMatchObject({
    result: expect.stringContaining("Three files"),
  });
}

async function survivesUnknownTool(): Promise<void> {
  await using workspace = await openWorkspace(
    scriptOf(printCall("NoSuchTool", { a: 1 }), shell("echo again"), repeatResult),
  );
  const result = resultOf(await runClaude(workspace, ["Do something", ...allowed("Bash")]));
  expect(result).toMatchObject({ result: "The tool said: again" });
  expect(toolResultsOf(workspace.server.requests.findLast(hasTools))[0]).toContain(
    "No such tool available: NoSuchTool",
  );
}

async function keepsToSchema(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf(printCall("StructuredOutput", { files: 2 }), "Done"));
  const schema = { type: "object", properties: { files: { type: "integer" } }, required: ["files"] };
  const args = ["How many files?", "--json-schema", JSON.stringify(schema)];
  expect(resultOf(await runClaude(workspace, args))).toMatchObject({ structured_output: { files: 2 } });
}

async function continuesAfterCrash(): Promise<void> {
  await using workspace = await openWorkspace(failFirst("Whole"));
  expect(resultOf(await runClaude(workspace, ["Say it"]))).toMatchObject({ result: "Whole" });
}

async function compacts(): Promise<void> {
  await using workspace = await openWorkspace(fillContext(shell("echo x > written.txt"), "Done"));
  const result = resultOf(await runClaude(workspace, ["Write a file", ...allowed("Bash")]));
  expect(result).toMatchObject({ result: "Done" });
  expect(await workspace.read("written.txt")).toBe("x\n");
}

async function saysContextIsFull(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("Never"));
  const { code, output } = await runClaude(workspace, [longPrompt]);
  expect(code).toBe(1);
  expect(JSON.parse(output)).toMatchObject({
    is_error: true,
    result: expect.stringContaining("Prompt is too long"),
  });
}

const flows = countFlows(`Claude Code ${version}`);

test("Claude Code calls a tool, reads its result and ends its turn, also when hearth launch starts it", {
  timeout: flowTimeout,
}, async () => {
  await expect(flows.run(writesFile)).resolves.toBeUndefined();
});

test("Claude Code reads a PDF and an image, finds a tool, and learns that web search is unavailable", {
  timeout: flowTimeout,
}, async () => {
  await expect(flows.run(readsPdfAndImage)).resolves.toBeUndefined();
});

flows.testMore([
  { name: "Claude Code: a failed command is reported, and the turn goes on", run: reportsFailedCommand },
  { name: "Claude Code: two commands of one turn both run", run: runsTwoCommands },
  { name: "Claude Code: the last session is continued with its history", run: continuesSession },
  { name: "Claude Code: a file is read and changed", run: editsFile },
  { name: "Claude Code: the model sees an image that it opened", run: seesImage },
  { name: "Claude Code: a tool of an MCP server is called", run: callsMcpTool },
  { name: "Claude Code: another agent does a part of the work", run: startsSubagent },
  {
    name: "Claude Code: a tool that does not exist is reported, and the turn goes on",
    run: survivesUnknownTool,
  },
  { name: "Claude Code: the result keeps to a schema", run: keepsToSchema },
  { name: "Claude Code: an engine that fails in the middle is asked again", run: continuesAfterCrash },
  { name: "Claude Code: an almost full context is compacted, and the turn goes on", run: compacts },
  { name: "Claude Code: a prompt beyond the context ends with that reason", run: saysContextIsFull },
]);
