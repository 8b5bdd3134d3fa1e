import { randomUUID } from "node:crypto";
import type { TypedTool } from "../schema.ts";
import type { ContentBlock, ServerResultType } from "./event-types.ts";

/** A tool that only Anthropic's own servers run. */
export type ServerTool =
  | { readonly kind: "built-in"; readonly name: string; readonly resultType: ServerResultType }
  /** The tools of an MCP server, whose names the request does not contain. */
  | { readonly kind: "mcp"; readonly serverName: string };

/** By the beginning of a type, which ends with the date of its version. */
const builtIn: readonly { readonly prefix: string; readonly resultType: ServerResultType }[] = [
  { prefix: "web_search_", resultType: "web_search_tool_result" },
  { prefix: "web_fetch_", resultType: "web_fetch_tool_result" },
  { prefix: "code_execution_", resultType: "code_execution_tool_result" },
  { prefix: "tool_search_tool_", resultType: "tool_search_tool_result" },
  { prefix: "advisor_", resultType: "advisor_tool_result" },
];

export function toServerTool({ type, name, mcp_server_name: server }: TypedTool): ServerTool | undefined {
  // Widened, because the static type of other types is a value that no client sends.
  const actualType: string = type;
  if (actualType === "mcp_toolset") return { kind: "mcp", serverName: server ?? "" };
  const found = builtIn.find(({ prefix }) => actualType.startsWith(prefix));
  if (found === undefined) return undefined;
  const { prefix, resultType } = found;
  return { kind: "built-in", name: name ?? prefix.slice(0, -1), resultType };
}

/** A server tool that a request requires, with the name of the tool. */
export type RequiredServerTool = { readonly tool: ServerTool; readonly name: string };

/** The call of a required server tool and its failure, in place of results that the model would invent. */
export function unavailableBlocks({ tool, name }: RequiredServerTool): readonly ContentBlock[] {
  const id = randomUUID().replaceAll("-", "");
  if (tool.kind === "mcp") {
    const content = [{ type: "text", text: "This server does not connect to MCP servers." }] as const;
    return [
      { type: "mcp_tool_use", id: `mcptoolu_${id}`, name, server_name: tool.serverName, input: {} },
      { type: "mcp_tool_result", tool_use_id: `mcptoolu_${id}`, is_error: true, content },
    ];
  }
  const { resultType: type } = tool;
  const caller = { type: "direct" } as const;
  const error = { type: `${type}_error`, error_code: "unavailable" } as const;
  return [
    { type: "server_tool_use", id: `srvtoolu_${id}`, name, input: {}, caller },
    {
      type,
      tool_use_id: `srvtoolu_${id}`,
      content: type === "tool_search_tool_result" ? { ...error, error_message: null } : error,
      ...(type === "web_search_tool_result" || type === "web_fetch_tool_result" ? { caller } : {}),
    },
  ];
}
