import type { JsonObject, Tool } from "@hearth-and-keep/engine";
import type { OfferedTool } from "./schema.ts";

/** A function as the client names it. */
export type ToolName = { readonly name: string; readonly namespace?: string };

/** The functions that the model may call. Models do not know namespaces, so they see them as a prefix of the name. */
export type ToolSet = {
  readonly tools: readonly Tool[];
  /** The client's name for a function that the model called. */
  readonly nameOf: (modelName: string) => ToolName;
};

/** Hosted tools, e.g. OpenAI's web search, are left out. */
export function readTools(offered: readonly OfferedTool[]): ToolSet {
  const named = offered.flatMap(expand);
  const names = new Map(named.map(({ name, tool }) => [tool.name, name]));
  return {
    tools: named.map(({ tool }) => tool),
    nameOf: (modelName) => names.get(modelName) ?? { name: modelName },
  };
}

export function modelToolName({ name, namespace }: ToolName): string {
  if (namespace === undefined) return name;
  return namespace.endsWith("_") ? `${namespace}${name}` : `${namespace}__${name}`;
}

type NamedTool = { readonly name: ToolName; readonly tool: Tool };

function expand(tool: OfferedTool): readonly NamedTool[] {
  if (tool.type === "function") return readFunction(tool);
  if (tool.type !== "namespace" || typeof tool.name !== "string") return [];
  const namespace = tool.name;
  return (tool.tools ?? []).flatMap((inner) =>
    inner.type === "function" ? readFunction(inner, namespace) : [],
  );
}

function readFunction(tool: Omit<OfferedTool, "tools">, namespace?: string): readonly NamedTool[] {
  const { name: plainName, description, parameters } = tool;
  if (typeof plainName !== "string") return [];
  const name = { name: plainName, ...(namespace === undefined ? {} : { namespace }) };
  const offered = {
    name: modelToolName(name),
    ...(typeof description === "string" ? { description } : {}),
    // Part of the parsed JSON body.
    ...(parameters === null || parameters === undefined ? {} : { parameters: parameters as JsonObject }),
  };
  return [{ name, tool: offered }];
}
