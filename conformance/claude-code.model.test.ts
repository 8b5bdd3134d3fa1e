import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { EngineRequest } from "@hearth-and-keep/engine";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { fetchClaudeCode, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { accessKey } from "../apps/hearth/src/access/keys.ts";
import { startTestServer, tiny } from "../apps/hearth/src/test/start-test-server.ts";
import { rightKey } from "./client-fixture.ts";

const run = promisify(execFile);
/** The instructions and tools of Claude Code alone take about ten thousand tokens. */
const contextTokens = 200_000;
const writeFile = {
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
      ? `<tool_call>\n${JSON.stringify(writeFile)}\n</tool_call>`
      : `The tool said: ${String(last.content)}`;
  return [
    { do: "write", text },
    { do: "end", reason: "stop" },
  ];
};

test("Claude Code calls a tool, reads its result and ends its turn", { timeout: 900_000 }, async () => {
  const program = await fetchClaudeCode();
  await using folder = await makeTemporaryFolder("claude-code");
  await using server = await startTestServer({
    models: { "local-model": tiny },
    script,
    access: { keys: [accessKey("agent", rightKey)] },
    description: { contextTokens },
    limits: { contextTokens },
  });
  const args = ["-p", "Write a file", "--model", "local-model", "--output-format", "json"];
  const { stdout } = await run(program, [...args, "--allowedTools", "Bash"], {
    cwd: folder.path,
    timeout: 120_000,
    env: {
      PATH: "/usr/bin:/bin",
      HOME: folder.path,
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: rightKey,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    },
  });
  expect(JSON.parse(stdout)).toMatchObject({
    subtype: "success",
    is_error: false,
    num_turns: 2,
    stop_reason: "end_turn",
    result: "The tool said: from-the-tool",
    permission_denials: [],
  });
  expect(await readFile(join(folder.path, "written.txt"), "utf8")).toBe("from-the-tool\n");
  const handled = server.logRecords().filter(({ route }) => route === "POST /v1/messages");
  expect(handled.map(({ status, keyName }) => [status, keyName])).toEqual([
    [200, "agent"],
    [200, "agent"],
  ]);
});
