import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { EngineRequest } from "@hearth-and-keep/engine";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { fetchClaudeCode, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { accessKey } from "../apps/hearth/src/access/keys.ts";
import { startTestServer, tiny } from "../apps/hearth/src/test/start-test-server.ts";
import { pixel, rightKey } from "./client-fixture.ts";
import { runHearth } from "./terminal/run-hearth.ts";

const run = promisify(execFile);
/** The instructions and tools of Claude Code alone take about ten thousand tokens. */
const contextTokens = 200_000;
const writeByTool = {
  name: "Bash",
  arguments: { command: "echo from-the-tool > written.txt && cat written.txt", description: "Writes a file" },
};

type Turn = { readonly role: string; readonly content: unknown };

function turnsOf({ input }: EngineRequest): readonly Turn[] {
  return input.type === "conversation" ? input.conversation.messages : [];
}

/** First calls a tool that writes a file, then repeats the tool's result. */
const script: FakeEngineScript = (request) => {
  const last = turnsOf(request).findLast(({ role }) => role === "tool");
  const text =
    last === undefined
      ? `<tool_call>\n${JSON.stringify(writeByTool)}\n</tool_call>`
      : `The tool said: ${String(last.content)}`;
  return [
    { do: "write", text },
    { do: "end", reason: "stop" },
  ];
};

type Launch = { readonly folder: string; readonly url: string };

/** `hearth launch claude` alone decides the server, the model and the key. */
async function launchClaudeCode({ folder, url }: Launch): Promise<void> {
  const args = ["-p", "hi", "--output-format", "json", "--allowedTools", "Bash"];
  const { code, output, errors } = await runHearth(["launch", "claude", "--", ...args], {
    folder,
    environment: {
      PATH: `${dirname(await fetchClaudeCode())}:/usr/bin:/bin`,
      HOME: folder,
      HEARTH_HOST: url,
      HEARTH_API_KEY: rightKey,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    },
  });
  expect([code, JSON.parse(output)], errors).toMatchObject([0, { result: "The tool said: from-the-tool" }]);
}

const startAgentServer = (engine: FakeEngineScript) =>
  startTestServer({
    models: { "local-model": tiny },
    script: engine,
    access: { keys: [accessKey("agent", rightKey)] },
    description: { contextTokens },
    limits: { contextTokens },
    readPdf: async () => "Revenue grew.",
  });

type AgentRun = { readonly folder: string; readonly url: string; readonly allowedTools: string };

/** Runs Claude Code once and returns what it prints. */
async function runAgent({ folder, url, allowedTools }: AgentRun): Promise<unknown> {
  const args = ["-p", "Do your work", "--model", "local-model", "--output-format", "json"];
  const { stdout } = await run(await fetchClaudeCode(), [...args, "--allowedTools", allowedTools], {
    cwd: folder,
    timeout: 120_000,
    env: {
      PATH: "/usr/bin:/bin",
      HOME: folder,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: rightKey,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      ENABLE_TOOL_SEARCH: "true",
    },
  });
  return JSON.parse(stdout);
}

test("Claude Code calls a tool, reads its result and ends its turn, also when hearth launch starts it", {
  timeout: 900_000,
}, async () => {
  await using folder = await makeTemporaryFolder("claude-code");
  await using server = await startAgentServer(script);
  expect(await runAgent({ folder: folder.path, url: server.url, allowedTools: "Bash" })).toMatchObject({
    subtype: "success",
    is_error: false,
    num_turns: 2,
    stop_reason: "end_turn",
    result: "The tool said: from-the-tool",
    permission_denials: [],
  });
  expect(await readFile(join(folder.path, "written.txt"), "utf8")).toBe("from-the-tool\n");
  await launchClaudeCode({ folder: folder.path, url: server.url });
  const routes = server.logRecords().map(({ route, status }) => [route, status]);
  expect(routes).toContainEqual(["POST /alt/v1/messages", 200]);
  const handled = server.logRecords().filter(({ route }) => route === "POST /v1/messages");
  expect(handled.map(({ status, keyName }) => [status, keyName])).toEqual([
    [200, "agent"],
    [200, "agent"],
  ]);
});

const printCall = (name: string, input: object) =>
  `<tool_call>\n${JSON.stringify({ name, arguments: input })}\n</tool_call>\n`;

/** Reads both files, searches for a tool that is not listed, and calls it. */
const scriptOf =
  (folder: string): FakeEngineScript =>
  (request) => {
    const read = (name: string) => printCall("Read", { file_path: join(folder, name) });
    const results = turnsOf(request).filter(({ role }) => role === "tool").length;
    const texts = new Map([
      [0, read("report.pdf") + read("chart.png")],
      [2, printCall("ToolSearch", { query: "select:WebSearch" })],
      [3, printCall("WebSearch", { query: "weather in Bonn" })],
    ]);
    return [
      { do: "write", text: texts.get(results) ?? "Done" },
      { do: "end", reason: "stop" },
    ];
  };

test("Claude Code reads a PDF and an image, finds a tool, and learns that web search is unavailable", {
  timeout: 900_000,
}, async () => {
  await using folder = await makeTemporaryFolder("claude-code");
  await writeFile(join(folder.path, "report.pdf"), "%PDF-1.4\ntrailer<</Root 1 0 R>>\n%%EOF\n");
  await writeFile(join(folder.path, "chart.png"), Buffer.from(pixel, "base64"));
  await using server = await startAgentServer(scriptOf(folder.path));
  const allowedTools = "Read,ToolSearch,WebSearch";
  expect(await runAgent({ folder: folder.path, url: server.url, allowedTools })).toMatchObject({
    subtype: "success",
    is_error: false,
    result: "Done",
  });
  const last = server.requests.at(-1);
  const results = last === undefined ? [] : turnsOf(last).filter(({ role }) => role === "tool");
  const contents = results.map(({ content }) => String(content));
  expect(contents.slice(0, 2).toSorted()).toEqual([
    expect.stringMatching(/^PDF file read: .*report\.pdf .*\n\nRevenue grew\.$/u),
    "[There is an image here, but this model cannot see images.]",
  ]);
  expect(JSON.parse(contents[2] ?? "")).toMatchObject({ name: "WebSearch", parameters: { type: "object" } });
  expect(contents[3]).toContain("Web search error: unavailable");
  const lists = server.requests.map(({ input }) =>
    JSON.stringify(input.type === "conversation" && input.conversation.tools),
  );
  expect(new Set(lists).size).toBe(1);
});
