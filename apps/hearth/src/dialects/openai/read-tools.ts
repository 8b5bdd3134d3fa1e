import type { JsonObject, Tool } from "@hearth-and-keep/engine";
import { requestFailure } from "../../failures.ts";
import type { ToolChoice } from "../../generation/request.ts";
import type { ChatCompletionsBody, WireTool } from "./schema.ts";

export type OfferedTools = { readonly tools: readonly Tool[]; readonly toolChoice: ToolChoice };

/** The tools that may be called in this turn, and whether one must be. */
export function readTools(body: ChatCompletionsBody): OfferedTools {
  const tools = (body.tools ?? []).map(readTool);
  const choice = body.tool_choice ?? "auto";
  const limit = body.parallel_tool_calls === false ? { mostCalls: 1 } : {};
  if (typeof choice === "string") {
    if (choice === "required" && tools.length === 0) throw invalid('is "required", but there are no "tools"');
    return { tools, toolChoice: { type: choice, ...limit } };
  }
  if (choice.type === "function") {
    const toolName = choice.function.name;
    requireOffered(tools, toolName);
    return { tools, toolChoice: { type: "required", toolName, mostCalls: 1 } };
  }
  const allowed = choice.allowed_tools.tools.map((each) => each.function.name);
  for (const name of allowed) requireOffered(tools, name);
  return {
    tools: tools.filter(({ name }) => allowed.includes(name)),
    toolChoice: { type: choice.allowed_tools.mode, ...limit },
  };
}

function readTool({ type = "function", function: described }: WireTool, index: number): Tool {
  if (type !== "function" || described === undefined) {
    const reason = type === "function" ? "lacks its function" : `has the type "${type}", not "function"`;
    throw requestFailure({ kind: "request-invalid", place: `tools.${index}`, reason });
  }
  const { name, description, parameters } = described;
  return {
    name,
    ...(typeof description === "string" ? { description } : {}),
    // Came as JSON with the body, and is passed on untouched.
    ...(parameters === undefined || parameters === null ? {} : { parameters: parameters as JsonObject }),
  };
}

function requireOffered(tools: readonly Tool[], wanted: string): void {
  if (!tools.some(({ name }) => name === wanted)) throw invalid(`names "${wanted}", which is not in "tools"`);
}

function invalid(reason: string) {
  return requestFailure({ kind: "request-invalid", place: "tool_choice", reason });
}
