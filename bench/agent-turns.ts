import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fetchAgent } from "@hearth-and-keep/test-servers";
import { type AgentBody, type RecordedRequest, recordAgent } from "./record-agent.ts";

/** Two consecutive requests of an agent; the second brings a tool that the first did not list. */
export type AgentTurns = { readonly path: string; readonly first: AgentBody; readonly second: AgentBody };

/** Claude Code defers some of its tools, and loads one with its tool search. */
export async function recordClaudeCode(): Promise<AgentTurns> {
  const { folder } = await fetchAgent("claude");
  const call = { name: "ToolSearch", arguments: { query: "select:WebSearch" } };
  const requests = await recordAgent({ model: "local-model", call }, async ({ url, model }) => ({
    program: join(folder, "claude"),
    args: ["-p", "Do your work", "--model", model, "--allowedTools", "ToolSearch"],
    environment: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "any",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      ENABLE_TOOL_SEARCH: "true",
    },
  }));
  return pairOf(requests, "tool_reference");
}

/** A model for which Codex defers the tools of MCP servers and has a prompt of its own. */
const codexModel = "gpt-5.5";

/** Codex loads the tool of an MCP server with its tool search. */
export async function recordCodex(): Promise<AgentTurns> {
  const { folder: programFolder } = await fetchAgent("codex");
  const program = join(programFolder, "codex");
  const call = { name: "tool_search", arguments: { query: "tide", limit: 1 } };
  const requests = await recordAgent({ model: codexModel, call }, async ({ folder, url, model }) => {
    const home = join(folder, ".codex");
    await mkdir(home);
    await writeFile(join(home, "config.toml"), codexSettings(url, model));
    const args = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
    return {
      program,
      args: ["exec", ...args, "Do your work"],
      environment: { CODEX_HOME: home, KEY: "any" },
    };
  });
  return pairOf(requests, "tool_search_output");
}

function codexSettings(url: string, model: string): string {
  const mcpServer = fileURLToPath(new URL("../conformance/agents/mcp-server.ts", import.meta.url));
  return [
    `model = ${JSON.stringify(model)}`,
    'model_provider = "hearth"',
    "[features]",
    "tool_search_always_defer_mcp_tools = true",
    "[model_providers.hearth]",
    'name = "Hearth"',
    `base_url = ${JSON.stringify(`${url}/v1`)}`,
    'wire_api = "responses"',
    'env_key = "KEY"',
    "[mcp_servers.harbours]",
    `command = ${JSON.stringify(process.execPath)}`,
    `args = ${JSON.stringify([mcpServer])}`,
    "",
  ].join("\n");
}

/** The request that contains the tool, and the one before it. */
function pairOf(requests: readonly RecordedRequest[], sign: string): AgentTurns {
  const index = requests.findIndex(({ body }) => JSON.stringify(body).includes(`"type":"${sign}"`));
  const [first, second] = index < 1 ? [] : requests.slice(index - 1);
  if (first === undefined || second === undefined) {
    throw new Error(`Cannot find "${sign}" after the first of ${requests.length} requests`);
  }
  return { path: second.path.replace(/\?.*$/u, ""), first: first.body, second: second.body };
}
