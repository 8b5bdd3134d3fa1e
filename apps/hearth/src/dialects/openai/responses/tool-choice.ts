import type { Tool } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";
import type { ToolChoice } from "../../../generation/request.ts";
import type { ResponsesRequest } from "./schema.ts";
import { modelToolName, type ToolName } from "./tool-names.ts";

export type ChosenTools = { readonly toolChoice: ToolChoice; readonly tools: readonly Tool[] };

/** The tools that the model sees, and whether it must call one. */
export function chooseTools(body: ResponsesRequest, tools: readonly Tool[]): ChosenTools {
  const { toolChoice, tools: offered } = readChoice(body.tool_choice ?? "auto", tools);
  const maxCalls = body.parallel_tool_calls === false ? { maxCalls: 1 } : {};
  if (toolChoice.type === "required" && offered.length === 0) {
    throw invalidField("tool_choice", "requires a tool call, but the request has no functions");
  }
  return { toolChoice: { ...toolChoice, ...maxCalls }, tools: offered };
}

type Choice = NonNullable<ResponsesRequest["tool_choice"]>;

function readChoice(choice: Choice, tools: readonly Tool[]): ChosenTools {
  if (typeof choice === "string") return { toolChoice: { type: choice }, tools };
  if (choice.type === "function" || choice.type === "custom") {
    const toolName = requireTool(choice, tools, "tool_choice.name");
    return { toolChoice: { type: "required", toolName, maxCalls: 1 }, tools };
  }
  if (choice.type !== "allowed_tools") {
    throw invalidField(
      "tool_choice.type",
      `is "${choice.type}", which is not supported; use "function" or "allowed_tools"`,
    );
  }
  const allowed = new Set(
    (choice.tools ?? [])
      .filter(({ type }) => type === "function" || type === "custom")
      .map((tool, index) => requireTool(tool, tools, `tool_choice.tools.${index}.name`)),
  );
  const offered = tools.filter(({ name }) => allowed.has(name));
  return { toolChoice: { type: choice.mode ?? "auto" }, tools: offered };
}

type Named = { readonly name?: string | null; readonly namespace?: string | null };

function requireTool({ name, namespace }: Named, tools: readonly Tool[], field: string): string {
  if (typeof name !== "string") throw invalidField(field, "is missing");
  const toolName: ToolName = { name, ...(typeof namespace === "string" ? { namespace } : {}) };
  const modelName = modelToolName(toolName);
  if (tools.some((tool) => tool.name === modelName)) return modelName;
  throw invalidField(field, `is "${name}", which is not in "tools"`);
}
