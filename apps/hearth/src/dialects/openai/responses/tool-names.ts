import type { JsonObject, Tool } from "@hearth-and-keep/engine";
import type { OfferedTool } from "./schema.ts";

/** A function as the client names it. */
export type ToolName = { readonly name: string; readonly namespace?: string };

/** How calls of a tool are written. */
type ToolType = "function" | "custom" | "tool_search";

export type CalledTool = { readonly type: ToolType; readonly name: ToolName };

/** The functions that the model may call. Models do not know namespaces, so they see them as a prefix of the name. */
export type ToolSet = {
  readonly tools: readonly Tool[];
  /** Those at the beginning of the prompt, if the conversation introduces others, which it then defines in place. */
  readonly listed?: readonly Tool[];
  /** The client's tool that the model called. */
  readonly toolOf: (modelName: string) => CalledTool;
  /** The types of tools that only the vendor can run. */
  readonly droppedTools: readonly string[];
};

/**
 * Hosted tools, e.g. OpenAI's web search, are left out. Of tools with the same name the last one counts.
 * `introduced` are tools that the conversation adds later. They are not listed at the beginning, which would change the
 * prompt from there on, unless there is nothing else that tells the model how to call tools.
 */
export function readTools(offered: readonly OfferedTool[], introduced: readonly OfferedTool[] = []): ToolSet {
  const expanded = [...offered, ...introduced].map(expand);
  const byName = new Map(expanded.flat().map((named) => [named.tool.name, named]));
  const listed = introduced.length === 0 ? [] : readTools(offered).tools;
  return {
    tools: [...byName.values()].map(({ tool }) => tool),
    ...(listed.length === 0 ? {} : { listed }),
    toolOf: (modelName) => byName.get(modelName) ?? { type: "function", name: { name: modelName } },
    droppedTools: offered.flatMap(({ type }, index) => (expanded[index]?.length === 0 ? [type] : [])),
  };
}

export function modelToolName({ name, namespace }: ToolName): string {
  if (namespace === undefined) return name;
  return namespace.endsWith("_") ? `${namespace}${name}` : `${namespace}__${name}`;
}

type NamedTool = CalledTool & { readonly tool: Tool };

function expand(tool: OfferedTool): readonly NamedTool[] {
  switch (tool.type) {
    case "function":
      return readFunction(tool);
    case "custom":
      return readFunction(
        { ...tool, description: describeCustom(tool), parameters: customParameters },
        "custom",
      );
    case "tool_search":
      return tool.execution === "client" ? readFunction({ ...tool, name: "tool_search" }, "tool_search") : [];
    case "namespace":
      return readNamespace(tool);
    default:
      return [];
  }
}

function readNamespace({ name: namespace, tools }: OfferedTool): readonly NamedTool[] {
  if (typeof namespace !== "string") return [];
  return (tools ?? []).flatMap((inner) =>
    inner.type === "function" ? readFunction({ ...inner, namespace }) : [],
  );
}

/** The call of a custom tool has one text instead of arguments. */
const customParameters: JsonObject = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
};

/** The model's output is not constrained to the grammar of a custom tool, so the model is told about it. */
function describeCustom({ description, format }: OfferedTool): string {
  const { syntax, definition } = format ?? {};
  const grammar = definition ? `The input must match this ${syntax ?? ""} grammar:\n${definition}` : "";
  return [description ?? "", grammar].filter((part) => part !== "").join("\n\n");
}

type FunctionTool = Omit<OfferedTool, "tools" | "format" | "execution"> & { readonly namespace?: string };

function readFunction(tool: FunctionTool, type: ToolType = "function"): readonly NamedTool[] {
  const { name: plainName, namespace, description, parameters } = tool;
  if (typeof plainName !== "string") return [];
  const name = { name: plainName, ...(namespace === undefined ? {} : { namespace }) };
  const offered = {
    name: modelToolName(name),
    ...(tool.strict === true ? { isStrict: true } : {}),
    ...(typeof description === "string" ? { description } : {}),
    // Part of the parsed JSON body.
    ...(parameters === null || parameters === undefined ? {} : { parameters: parameters as JsonObject }),
  };
  return [{ type, name, tool: offered }];
}
