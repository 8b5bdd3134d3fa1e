import type { JsonObject, Tool } from "@hearth-and-keep/engine";
import type { OfferedTool } from "./schema.ts";

/** How a caller names a function; functions of one namespace have it in common. */
export type ToolName = { readonly name: string; readonly namespace?: string };

/** The functions that a model can call. Models know no namespaces, so they see them as a part of the name. */
export type ToolSet = {
  readonly tools: readonly Tool[];
  /** The caller's name of what a model called. */
  readonly nameOf: (shownName: string) => ToolName;
};

/** Tools that run on somebody else's machines cannot be offered and are left out. */
export function readTools(offered: readonly OfferedTool[]): ToolSet {
  const named = offered.flatMap(expand);
  const names = new Map(named.map(({ name, tool }) => [tool.name, name]));
  return {
    tools: named.map(({ tool }) => tool),
    nameOf: (shownName) => names.get(shownName) ?? { name: shownName },
  };
}

export function shownNameOf({ name, namespace }: ToolName): string {
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
  const shown = {
    name: shownNameOf(name),
    ...(typeof description === "string" ? { description } : {}),
    // What was parsed from JSON holds nothing else.
    ...(parameters === null || parameters === undefined ? {} : { parameters: parameters as JsonObject }),
  };
  return [{ name, tool: shown }];
}
