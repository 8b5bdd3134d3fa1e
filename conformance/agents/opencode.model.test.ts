import { readFile } from "node:fs/promises";
import type { EngineRequest } from "@hearth-and-keep/engine";
import { fetchAgent } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { pixel } from "../client-fixture.ts";
import {
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
  readJsonLines,
  reportFile,
  type Workspace,
} from "./run-program.ts";
import { countFlows, flowTimeout } from "./test-flows.ts";

const { folder, version } = await fetchAgent("opencode");

/** Nothing is downloaded, and no other settings of this machine are read. */
const environment = {
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
  OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
};

/** `opencode run` with the settings of `hearth launch opencode`. */
function runOpenCode(
  workspace: Workspace,
  args: readonly string[],
  model: string = textModel,
): Promise<ProgramResult> {
  const all = ["run", "--format", "json", "--auto", ...args];
  return launchAgent(workspace, all, { name: "opencode", folder, model, environment });
}

type Event = { readonly type?: string; readonly part?: { readonly text?: string } };

/** The events of a run that ended well. */
function eventsOf({ code, output, errors }: ProgramResult): readonly Event[] {
  expect(code, output + errors).toBe(0);
  // It prints one object per line.
  const events = readJsonLines(output) as readonly Event[];
  expect(events.filter(({ type }) => type === "error")).toEqual([]);
  return events;
}

function textOf(result: ProgramResult): string | undefined {
  return eventsOf(result).findLast(({ type }) => type === "text")?.part?.text;
}

const shell = (command: string): string => printCall("bash", { command, description: "Runs it" });

async function writesFile(): Promise<void> {
  const call = shell("echo from-the-tool > written.txt && cat written.txt");
  await using workspace = await openWorkspace(scriptOf(call, repeatResult));
  const result = await runOpenCode(workspace, ["Write a file"]);
  expect(textOf(result)).toBe("The tool said: from-the-tool\n");
  expect(await workspace.read("written.txt")).toBe("from-the-tool\n");
  const calls = workspace.server.logRecords().filter(({ route }) => route === "POST /v1/chat/completions");
  expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([200]));
}

async function editsFile(): Promise<void> {
  const filePath = "notes.txt";
  await using workspace = await openWorkspace(
    scriptOf(
      printCall("read", { filePath }),
      printCall("edit", { filePath, oldString: "old", newString: "new" }),
      "Changed",
    ),
  );
  await workspace.write(filePath, "old\n");
  expect(textOf(await runOpenCode(workspace, ["Change the notes"]))).toBe("Changed");
  expect(await workspace.read(filePath)).toBe("new\n");
}

async function reportsFailedCommand(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf(shell("echo no; exit 3"), repeatResult));
  expect(textOf(await runOpenCode(workspace, ["Run the tests"]))).toContain("no");
}

async function runsTwoCommands(): Promise<void> {
  await using workspace = await openWorkspace(
    scriptOf(shell("echo first") + shell("echo second"), "Both ran"),
  );
  expect(textOf(await runOpenCode(workspace, ["Run both"]))).toBe("Both ran");
  const results = toolResultsOf(workspace.server.requests.findLast(hasTools));
  expect(results).toEqual(["first\n", "second\n"]);
}

async function continuesSession(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("I remember seven", "It was seven"));
  eventsOf(await runOpenCode(workspace, ["Remember the number seven"]));
  const second = await runOpenCode(workspace, ["--continue", "Which number was it?"]);
  expect(textOf(second)).toBe("It was seven");
  const last = workspace.server.requests.findLast(hasTools);
  const contents = (last === undefined ? [] : messagesOf(last)).map(({ content }) => String(content));
  expect(contents.slice(-3)).toEqual([
    expect.stringContaining("Remember the number seven"),
    "I remember seven",
    expect.stringContaining("Which number was it?"),
  ]);
}

async function seesAttachedImage(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("A chart"));
  const image = await workspace.write("chart.png", Buffer.from(pixel, "base64"));
  const result = await runOpenCode(workspace, ["What is this?", "--file", image], visionModel);
  expect(textOf(result)).toBe("A chart");
  expect(countImages(workspace.server.requests.findLast(hasTools))).toBe(1);
}

async function readsImage(): Promise<void> {
  await using workspace = await openWorkspace(
    scriptOf(printCall("read", { filePath: "chart.png" }), "A chart"),
  );
  await workspace.write("chart.png", Buffer.from(pixel, "base64"));
  expect(textOf(await runOpenCode(workspace, ["Look at chart.png"], visionModel))).toBe("A chart");
  expect(countImages(workspace.server.requests.findLast(hasTools))).toBe(1);
}

function allText(request: EngineRequest | undefined): string {
  const messages = request === undefined ? [] : messagesOf(request);
  return messages.map(({ content }) => String(content)).join("\n");
}

async function readsAttachedPdf(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("Prices fell"));
  const report = await workspace.write("report.pdf", await readFile(reportFile));
  const result = await runOpenCode(workspace, ["What does it say?", "--file", report]);
  expect(textOf(result)).toBe("Prices fell");
  expect(allText(workspace.server.requests.findLast(hasTools))).toContain("prices fell by 7 %");
}

async function readsPdfByTool(): Promise<void> {
  await using workspace = await openWorkspace(
    scriptOf(printCall("read", { filePath: "report.pdf" }), "Prices fell"),
  );
  await workspace.write("report.pdf", await readFile(reportFile));
  expect(textOf(await runOpenCode(workspace, ["Read report.pdf"]))).toBe("Prices fell");
  expect(allText(workspace.server.requests.findLast(hasTools))).toContain("prices fell by 7 %");
}

async function survivesUnknownTool(): Promise<void> {
  await using workspace = await openWorkspace(
    scriptOf(printCall("no_such_tool", { a: 1 }), shell("echo again"), repeatResult),
  );
  expect(textOf(await runOpenCode(workspace, ["Do something"]))).toBe("The tool said: again\n");
  expect(toolResultsOf(workspace.server.requests.findLast(hasTools))[0]).toContain("no_such_tool");
}

async function callsMcpTool(): Promise<void> {
  await using workspace = await openWorkspace(
    scriptOf(printCall("harbours_tide", { harbour: "Bergen" }), repeatResult),
  );
  const mcp = { harbours: { type: "local", command: mcpCommand, enabled: true } };
  await workspace.write("opencode.json", JSON.stringify({ mcp }));
  const result = await runOpenCode(workspace, ["When is high tide?"]);
  expect(textOf(result)).toBe("The tool said: High tide at 14:05");
}

async function showsThoughts(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("<think>\nI look first\n</think>\n\nDone"));
  const events = eventsOf(await runOpenCode(workspace, ["--thinking", "Look"]));
  expect(events.find(({ type }) => type === "reasoning")?.part?.text?.trim()).toBe("I look first");
  expect(events.findLast(({ type }) => type === "text")?.part?.text?.trim()).toBe("Done");
}

async function startsSubagent(): Promise<void> {
  const call = printCall("task", {
    description: "Count files",
    prompt: "Count the files here",
    subagent_type: "general",
  });
  await using workspace = await openWorkspace((request) => {
    const isSubagent = messagesOf(request).some(
      ({ role, content }) => role === "user" && content?.includes("Count the files here"),
    );
    return isSubagent ? write("Three files") : [...scriptOf(call, repeatResult)(request, 1)];
  });
  expect(textOf(await runOpenCode(workspace, ["Ask another agent"]))).toContain("Three files");
}

async function continuesAfterCrash(): Promise<void> {
  await using workspace = await openWorkspace(failFirst("Whole"));
  expect(textOf(await runOpenCode(workspace, ["Say it"]))).toBe("Whole");
}

async function compacts(): Promise<void> {
  await using workspace = await openWorkspace(fillContext(shell("echo x > written.txt"), "Done"));
  expect(textOf(await runOpenCode(workspace, ["Write a file"]))).toBe("Done");
  expect(await workspace.read("written.txt")).toBe("x\n");
}

async function saysContextIsFull(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("Never"));
  const { output } = await runOpenCode(workspace, [longPrompt]);
  expect(readJsonLines(output)).toContainEqual(
    expect.objectContaining({
      type: "error",
      error: expect.objectContaining({ name: "ContextOverflowError" }),
    }),
  );
  expect(workspace.server.requests.filter(hasTools)).toEqual([]);
}

const flows = countFlows(`OpenCode ${version}`);

test("OpenCode: a command writes a file, and its output comes back", { timeout: flowTimeout }, async () => {
  await expect(flows.run(writesFile)).resolves.toBeUndefined();
});

flows.testMore([
  { name: "OpenCode: a file is read and changed", run: editsFile },
  { name: "OpenCode: a failed command is reported, and the turn goes on", run: reportsFailedCommand },
  { name: "OpenCode: two commands of one turn both run", run: runsTwoCommands },
  { name: "OpenCode: the last session is continued with its history", run: continuesSession },
  { name: "OpenCode: the model sees an image of the prompt", run: seesAttachedImage },
  { name: "OpenCode: the model sees an image that it opened", run: readsImage },
  { name: "OpenCode: the model gets the text of a PDF of the prompt", run: readsAttachedPdf },
  { name: "OpenCode: the model gets the text of a PDF that it opened", run: readsPdfByTool },
  {
    name: "OpenCode: a tool that does not exist is reported, and the turn goes on",
    run: survivesUnknownTool,
  },
  { name: "OpenCode: a tool of an MCP server is called", run: callsMcpTool },
  { name: "OpenCode: thoughts are shown apart from the response", run: showsThoughts },
  { name: "OpenCode: another agent does a part of the work", run: startsSubagent },
  { name: "OpenCode: an engine that fails is asked again", run: continuesAfterCrash },
  { name: "OpenCode: an almost full context is compacted, and the turn goes on", run: compacts },
  { name: "OpenCode: a prompt beyond the context ends with that reason", run: saysContextIsFull },
]);
