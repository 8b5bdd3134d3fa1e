import type { EngineRequest } from "@hearth-and-keep/engine";
import { fetchAgent } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { pixel } from "../client-fixture.ts";
import {
  countImages,
  failFirst,
  fillContext,
  longPrompt,
  messagesOf,
  printCall,
  repeatResult,
  scriptOf,
  textModel,
  toolResultsOf,
  visionModel,
  windowTokens,
} from "./agent-server.ts";
import {
  launchAgent,
  mcpCommand,
  openWorkspace,
  type ProgramResult,
  readJsonLines,
  type Workspace,
} from "./run-program.ts";
import { countFlows, flowTimeout } from "./test-flows.ts";

const { folder, version } = await fetchAgent("codex");
const fixedArgs = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];

/** `codex exec` with the settings of `hearth launch codex`. */
async function runCodex(
  workspace: Workspace,
  args: readonly string[],
  model: string = textModel,
): Promise<ProgramResult> {
  return launchAgent(workspace, ["exec", ...fixedArgs, ...args], { name: "codex", folder, model });
}

/** The items of a run that ended well, in order. */
function itemsOf({ code, output, errors }: ProgramResult): readonly unknown[] {
  expect(code, output + errors).toBe(0);
  const events = readJsonLines(output);
  expect(events.at(-1)).toMatchObject({ type: "turn.completed" });
  return events.flatMap((event) =>
    typeof event === "object" && event !== null && "item" in event && "type" in event
      ? event.type === "item.completed"
        ? [event.item]
        : []
      : [],
  );
}

const shell = (cmd: string): string => printCall("exec_command", { cmd });
const said = (text: unknown): object => ({ type: "agent_message", text });

async function writesFile(): Promise<void> {
  const call = shell("echo from-the-tool > written.txt && cat written.txt");
  await using workspace = await openWorkspace(scriptOf(call, repeatResult));
  const items = itemsOf(await runCodex(workspace, ["Write a file"]));
  expect(items).toContainEqual(
    expect.objectContaining({ type: "command_execution", exit_code: 0, status: "completed" }),
  );
  expect(items.at(-1)).toMatchObject(
    said(expect.stringMatching(/^The tool said: .*Output:\nfrom-the-tool\n$/su)),
  );
  expect(await workspace.read("written.txt")).toBe("from-the-tool\n");
  const calls = workspace.server.logRecords().filter(({ route }) => route === "POST /v1/responses");
  expect(calls.map(({ status, keyName }) => [status, keyName])).toEqual([
    [200, "default"],
    [200, "default"],
  ]);
}

async function reportsFailedCommand(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf(shell("echo no >&2; exit 3"), repeatResult));
  const items = itemsOf(await runCodex(workspace, ["Run the tests"]));
  expect(items).toContainEqual(
    expect.objectContaining({ type: "command_execution", exit_code: 3, status: "failed" }),
  );
  expect(items.at(-1)).toMatchObject(said(expect.stringMatching(/exited with code 3.*no\n$/su)));
}

async function runsTwoCommands(): Promise<void> {
  const calls = shell("echo first") + shell("echo second");
  await using workspace = await openWorkspace(scriptOf(calls, "Both ran"));
  const items = itemsOf(await runCodex(workspace, ["Run both"]));
  expect(items.at(-1)).toMatchObject(said("Both ran"));
  const results = toolResultsOf(workspace.server.requests.at(-1));
  expect(results).toEqual([expect.stringMatching(/first\n$/u), expect.stringMatching(/second\n$/u)]);
}

async function continuesSession(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("I remember seven", "It was seven"));
  itemsOf(await runCodex(workspace, ["Remember the number seven"]));
  const args = ["exec", "resume", "--last", ...fixedArgs, "Which number was it?"];
  const items = itemsOf(await launchAgent(workspace, args, { name: "codex", folder }));
  expect(items.at(-1)).toMatchObject(said("It was seven"));
  const [, second] = workspace.server.requests;
  const contents = second === undefined ? [] : messagesOf(second).map(({ content }) => content);
  expect(contents.slice(-3)).toEqual([
    "Remember the number seven",
    "I remember seven",
    "Which number was it?",
  ]);
}

async function seesAttachedImage(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("A chart"));
  const image = await workspace.write("chart.png", Buffer.from(pixel, "base64"));
  const items = itemsOf(await runCodex(workspace, ["What is this?", "-i", image], visionModel));
  expect(items.at(-1)).toMatchObject(said("A chart"));
  expect(countImages(workspace.server.requests.at(-1))).toBe(1);
}

async function viewsImage(): Promise<void> {
  await using workspace = await openWorkspace(
    scriptOf(printCall("view_image", { path: "chart.png" }), "A chart"),
  );
  await workspace.write("chart.png", Buffer.from(pixel, "base64"));
  const items = itemsOf(await runCodex(workspace, ["Look at chart.png"], visionModel));
  expect(items.at(-1)).toMatchObject(said("A chart"));
  expect(countImages(workspace.server.requests.at(-1))).toBe(1);
}

async function cannotViewImage(): Promise<void> {
  await using workspace = await openWorkspace(
    scriptOf(printCall("view_image", { path: "chart.png" }), "I cannot see it"),
  );
  await workspace.write("chart.png", Buffer.from(pixel, "base64"));
  // Codex knows from the catalog that the model sees no images; otherwise it sends them, and Hearth replaces them.
  for (const args of [[], await withCatalog(workspace, textModel)]) {
    const items = itemsOf(await runCodex(workspace, [...args, "Look at chart.png"]));
    expect(items.at(-1)).toMatchObject(said("I cannot see it"));
  }
  const results = workspace.server.requests.map((request) => toolResultsOf(request)).flat();
  expect(results).toEqual([
    expect.stringContaining("you do not support image inputs"),
    expect.stringContaining("this model cannot see it"),
  ]);
}

async function survivesUnknownTool(): Promise<void> {
  await using workspace = await openWorkspace(
    scriptOf(printCall("no_such_tool", { a: 1 }), shell("echo again"), repeatResult),
  );
  const items = itemsOf(await runCodex(workspace, ["Do something"]));
  expect(items.at(-1)).toMatchObject(said(expect.stringMatching(/again\n$/u)));
  expect(toolResultsOf(workspace.server.requests.at(-1))[0]).toContain("unsupported call: no_such_tool");
}

async function callsMcpTool(): Promise<void> {
  await using workspace = await openWorkspace(
    scriptOf(printCall("mcp__harbours__tide", { harbour: "Bergen" }), repeatResult),
  );
  const [command, file] = mcpCommand;
  const settings = [`command=${JSON.stringify(command)}`, `args=[${JSON.stringify(file)}]`];
  const args = settings.flatMap((setting) => ["-c", `mcp_servers.harbours.${setting}`]);
  const items = itemsOf(await runCodex(workspace, [...args, "When is high tide?"]));
  expect(items).toContainEqual(
    expect.objectContaining({ type: "mcp_tool_call", tool: "tide", status: "completed" }),
  );
  expect(items.at(-1)).toMatchObject(said(expect.stringContaining("High tide at 14:05")));
}

const patch = [
  "*** Begin Patch",
  "*** Update File: notes.txt",
  "@@",
  "-old",
  "+new",
  "*** End Patch",
  "",
].join("\n");

/** What Codex requires of a model with its own patch tool, which has a grammar instead of a schema. */
const catalogOf = (slug: string) => ({
  models: [
    {
      slug,
      display_name: "Local",
      supported_reasoning_levels: [],
      shell_type: "default",
      visibility: "list",
      supported_in_api: true,
      priority: 1,
      base_instructions: "You are a coding agent",
      support_verbosity: false,
      apply_patch_tool_type: "freeform",
      truncation_policy: { mode: "bytes", limit: 10_000 },
      context_window: windowTokens,
      experimental_supported_tools: [],
    },
  ],
});

/** Arguments for a catalog of our own instead of that of `hearth launch`. */
async function withCatalog(workspace: Workspace, slug: string): Promise<readonly string[]> {
  const path = await workspace.write("catalog.json", JSON.stringify(catalogOf(slug)));
  return ["-c", `model_catalog_json=${JSON.stringify(path)}`];
}

async function appliesPatch(): Promise<void> {
  await using workspace = await openWorkspace(
    scriptOf(printCall("apply_patch", { input: patch }), repeatResult),
  );
  await workspace.write("notes.txt", "old\n");
  const args = await withCatalog(workspace, textModel);
  const items = itemsOf(await runCodex(workspace, [...args, "Change the notes"]));
  expect(items).toContainEqual(expect.objectContaining({ type: "file_change", status: "completed" }));
  expect(items.at(-1)).toMatchObject(said(expect.stringContaining("M notes.txt")));
  expect(await workspace.read("notes.txt")).toBe("new\n");
}

async function returnsThoughts(): Promise<void> {
  const call = shell("echo looked");
  await using workspace = await openWorkspace(
    scriptOf(`<think>\nI look first\n</think>\n\n${call}`, repeatResult),
  );
  const items = itemsOf(await runCodex(workspace, ["Look"]));
  expect(items).toContainEqual(expect.objectContaining({ type: "reasoning", text: "I look first" }));
  const last = workspace.server.requests.at(-1);
  const turn = last === undefined ? undefined : messagesOf(last).find(({ role }) => role === "assistant");
  expect(turn).toMatchObject({ reasoning: "I look first" });
}

async function keepsToSchema(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf('{"files":2}'));
  const schema = {
    type: "object",
    properties: { files: { type: "integer" } },
    required: ["files"],
    additionalProperties: false,
  };
  const path = await workspace.write("schema.json", JSON.stringify(schema));
  const items = itemsOf(await runCodex(workspace, ["--output-schema", path, "How many files?"]));
  expect(items.at(-1)).toMatchObject(said('{"files":2}'));
  expect(workspace.server.requests.at(-1)?.constraint).toMatchObject({ type: "json-schema" });
}

async function continuesAfterCrash(): Promise<void> {
  await using workspace = await openWorkspace(failFirst("Whole"));
  const items = itemsOf(await runCodex(workspace, ["Say it"]));
  expect(items.at(-1)).toMatchObject(said("Whole"));
}

async function compacts(): Promise<void> {
  await using workspace = await openWorkspace(fillContext(shell("echo x > written.txt"), "Done"));
  const items = itemsOf(await runCodex(workspace, ["Write a file"]));
  expect(items.at(-1)).toMatchObject(said("Done"));
  expect(await workspace.read("written.txt")).toBe("x\n");
}

async function saysContextIsFull(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("Never"));
  const { code, output } = await runCodex(workspace, [longPrompt]);
  expect(code).toBe(1);
  expect(readJsonLines(output).at(-1)).toMatchObject({
    type: "turn.failed",
    error: { message: expect.stringContaining("ran out of room in the model's context window") },
  });
  expect(workspace.server.requests).toEqual([]);
}

async function polls(): Promise<void> {
  const cmd = "read line; echo got $line";
  await using workspace = await openWorkspace(
    scriptOf(printCall("exec_command", { cmd, yield_time_ms: 250, tty: true }), typeHello, repeatResult),
  );
  const items = itemsOf(await runCodex(workspace, ["Answer the program"]));
  expect(items.at(-1)).toMatchObject(said(expect.stringContaining("got hello")));
}

function typeHello(request: EngineRequest): string {
  const session = /session ID (\d+)/u.exec(toolResultsOf(request)[0] ?? "")?.[1];
  return printCall("write_stdin", { session_id: Number(session), chars: "hello\n" });
}

async function forksSession(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("First", "Second"));
  const { output } = await runCodex(workspace, ["Begin"]);
  // The first event of every run.
  const [started] = readJsonLines(output) as readonly { readonly thread_id?: string }[];
  const args = ["exec", "fork", ...fixedArgs, String(started?.thread_id), "Go another way"];
  const items = itemsOf(await launchAgent(workspace, args, { name: "codex", folder }));
  expect(items.at(-1)).toMatchObject(said("Second"));
}

const warning = "Model metadata for";

async function knowsModel(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("Hello"));
  const known = await runCodex(workspace, ["Say hello"]);
  expect(itemsOf(known).at(-1)).toMatchObject(said("Hello"));
  expect(known.output + known.errors).not.toContain(warning);
  const [request] = workspace.server.requests;
  expect(request === undefined ? "" : messagesOf(request)[0]?.content).toContain("AGENTS.md");
  // Without metadata of this model it does warn.
  const other = await runCodex(workspace, [...(await withCatalog(workspace, "another")), "Say hello"]);
  expect(other.output + other.errors).toContain(warning);
}

/** Codex believes that the model sees images, as it does of every model without a catalog. */
async function goesOnAfterImage(): Promise<void> {
  await using workspace = await openWorkspace(scriptOf("I cannot see it"));
  const image = await workspace.write("chart.png", Buffer.from(pixel, "base64"));
  const args = await withCatalog(workspace, textModel);
  const { code, output } = await runCodex(workspace, [...args, "What is this?", "-i", image]);
  expect([code, output]).toEqual([1, expect.stringContaining("does not support vision")]);
  const resumed = ["exec", "resume", "--last", ...fixedArgs, ...args, "Go on without it"];
  const items = itemsOf(await launchAgent(workspace, resumed, { name: "codex", folder }));
  expect(items.at(-1)).toMatchObject(said("I cannot see it"));
  const [request] = workspace.server.requests;
  const contents = request === undefined ? [] : messagesOf(request).map(({ content }) => content);
  expect(contents.join("\n")).toContain("this model cannot see it");
}

const flows = countFlows(`Codex CLI ${version}`);

test("Codex: a command writes a file, and its output comes back", { timeout: flowTimeout }, async () => {
  await expect(flows.run(writesFile)).resolves.toBeUndefined();
});

flows.testMore([
  { name: "Codex: a failed command is reported, and the turn goes on", run: reportsFailedCommand },
  { name: "Codex: two commands of one turn both run", run: runsTwoCommands },
  { name: "Codex: the last session is continued with its history", run: continuesSession },
  { name: "Codex: a session is forked with its history", run: forksSession },
  { name: "Codex: the model sees an image of the prompt", run: seesAttachedImage },
  { name: "Codex: the model sees an image that it opened", run: viewsImage },
  { name: "Codex: a model without vision learns that it cannot see an image", run: cannotViewImage },
  { name: "Codex: the model is known, so that nothing is warned about", run: knowsModel },
  { name: "Codex: after an image that the model cannot see, the session goes on", run: goesOnAfterImage },
  { name: "Codex: a tool that does not exist is reported, and the turn goes on", run: survivesUnknownTool },
  { name: "Codex: a tool of an MCP server is called", run: callsMcpTool },
  { name: "Codex: the patch tool, which has a grammar, changes a file", run: appliesPatch },
  { name: "Codex: a running program gets input in a later turn", run: polls },
  { name: "Codex: thoughts are shown, and come back in the next turn", run: returnsThoughts },
  { name: "Codex: the last message keeps to a schema", run: keepsToSchema },
  { name: "Codex: an engine that fails in the middle is asked again", run: continuesAfterCrash },
  { name: "Codex: an almost full context is compacted, and the turn goes on", run: compacts },
  { name: "Codex: a prompt beyond the context ends with that reason", run: saysContextIsFull },
]);
