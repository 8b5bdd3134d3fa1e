import type { Tool } from "@hearth-and-keep/engine";
import type { ToolAdditionBlock, ToolRemovalBlock } from "../schema.ts";
import { toOwnTool } from "./read-tools.ts";
import type { Toolset } from "./toolset.ts";

/**
 * Makes the tool of a reference callable and returns its definition for the model, because the list at the beginning
 * of the prompt does not contain it. Undefined if the request has no tool of that name.
 */
export function applyReference(name: string, toolset: Toolset): string | undefined {
  const tool = toolset.add(name);
  return tool && describeTool(tool);
}

/** Undefined if the tool is unknown, or one that nothing here runs. */
export function applyAddition({ tool }: ToolAdditionBlock, toolset: Toolset): string | undefined {
  const added = findAdded(tool, toolset);
  return added && `This tool is available from now on: ${describeTool(added)}`;
}

export function applyRemoval({ tool }: ToolRemovalBlock, toolset: Toolset): string | undefined {
  if (tool.type !== "tool_reference") return undefined;
  toolset.remove(tool.name);
  return `The tool "${tool.name}" is no longer available.`;
}

function findAdded(tool: ToolAdditionBlock["tool"], toolset: Toolset): Tool | undefined {
  switch (tool.type) {
    case "tool_reference":
      return toolset.add(tool.name);
    case "tool_definition": {
      const defined = toOwnTool(tool.definition);
      if (defined !== undefined) toolset.define(defined);
      return defined;
    }
    case "*":
    default:
      return undefined;
  }
}

function describeTool({ name, description, parameters }: Tool): string {
  return JSON.stringify({ name, description, parameters });
}
