import type { Tool } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";
import type { ToolChoice } from "../../../generation/request.ts";
import type { CountTokensBody, CustomTool, TypedTool } from "../schema.ts";
import { toClientTool } from "./client-tools.ts";
import { type RequiredServerTool, type ServerTool, toServerTool } from "./server-tools.ts";
import type { Toolset } from "./toolset.ts";

/** The tools of a request. */
export type DeclaredTools = {
  /** In the prompt from the beginning. */
  readonly listed: readonly Tool[];
  /** Hidden until a message refers to them. */
  readonly deferred: readonly Tool[];
  readonly serverTools: readonly ServerTool[];
  /** The types of those that are not offered to the model, because nothing here runs them. */
  readonly droppedTools: readonly string[];
};

export function readTools(tools: CountTokensBody["tools"]): DeclaredTools {
  const all = (tools ?? []).map((tool) => ({
    type: tool.type ?? "custom",
    isDeferred: tool.defer_loading === true,
    own: toOwnTool(tool),
  }));
  const serverTools = (tools ?? []).flatMap((tool) => (isCustom(tool) ? [] : (toServerTool(tool) ?? [])));
  // Only Anthropic's servers run this search, so nothing would ever refer to a hidden tool.
  const listsAll = serverTools.some(
    (tool) => tool.kind === "built-in" && tool.resultType === "tool_search_tool_result",
  );
  return {
    listed: all.flatMap(({ isDeferred, own }) =>
      own !== undefined && (listsAll || !isDeferred) ? [own] : [],
    ),
    deferred: all.flatMap(({ isDeferred, own }) =>
      own !== undefined && isDeferred && !listsAll ? [own] : [],
    ),
    serverTools,
    droppedTools: all.flatMap(({ type, own }) => (own === undefined ? [type] : [])),
  };
}

/** A tool that the client runs; undefined for other tools. */
export function toOwnTool(tool: CustomTool | TypedTool): Tool | undefined {
  return isCustom(tool) ? toTool(tool) : toClientTool(tool);
}

function isCustom(tool: CustomTool | TypedTool): tool is CustomTool {
  return tool.type === undefined || tool.type === null || tool.type === "custom";
}

function toTool(tool: CustomTool): Tool {
  const { name, input_schema: parameters, strict } = tool;
  const description = describe(tool);
  return {
    name,
    parameters,
    ...(strict === true ? { isStrict: true } : {}),
    ...(description === undefined ? {} : { description }),
  };
}

/** Templates have no field for examples of the input. */
function describe({ description, input_examples: examples }: CustomTool): string | undefined {
  if (!examples?.length) return description ?? undefined;
  const lines = examples.map((example) => JSON.stringify(example));
  return [description ?? "", "Examples of its input:", ...lines].join("\n").trimStart();
}

type Choice = CountTokensBody["tool_choice"];

/** Reads the choice after the messages, which may have changed the tools. */
export function readToolChoice(
  choice: Choice,
  toolset: Toolset,
  { droppedTools }: Pick<DeclaredTools, "droppedTools">,
): ToolChoice {
  if (choice === undefined || choice === null) return { type: "auto" };
  if (choice.type === "none") return { type: "none" };
  const limit = choice.disable_parallel_tool_use === true ? { maxCalls: 1 } : {};
  if (choice.type === "auto") return { type: "auto", ...limit };
  // A deferred tool that the client requires is callable, even if no message has referred to it.
  const isOffered =
    choice.type === "any" ? toolset.callable.length > 0 : toolset.add(choice.name) !== undefined;
  // The required tool may be one of the dropped ones; an error would stop an agent permanently.
  if (!isOffered && droppedTools.length > 0) return { type: "auto", ...limit };
  if (!isOffered) throw notOffered(choice);
  return { type: "required", ...limit, ...(choice.type === "tool" ? { toolName: choice.name } : {}) };
}

function notOffered(
  choice: { readonly type: "any" } | { readonly type: "tool"; readonly name: string },
): Error {
  return choice.type === "any"
    ? invalidField("tool_choice", 'requires at least one tool in "tools"')
    : invalidField("tool_choice.name", `names "${choice.name}", which is not in "tools"`);
}

/**
 * The server tool that the model would have to use: the one that the choice names, or the only tool of the request. A
 * client that sends a search as a request of its own has only that tool, and takes any text for search results.
 */
export function findRequiredServerTool(
  choice: Choice,
  { listed, deferred, serverTools, droppedTools }: DeclaredTools,
): RequiredServerTool | undefined {
  const own = [...listed, ...deferred];
  if (choice?.type === "tool") {
    const { name } = choice;
    const named = serverTools.find((tool) => tool.kind === "built-in" && tool.name === name);
    if (named !== undefined) return { tool: named, name };
    if (own.some((tool) => tool.name === name)) return undefined;
    const toolset = serverTools.find(({ kind }) => kind === "mcp");
    return toolset && { tool: toolset, name };
  }
  const [first] = serverTools;
  if (first?.kind !== "built-in" || choice?.type === "none" || own.length > 0) return undefined;
  return droppedTools.length === 1 || choice?.type === "any" ? { tool: first, name: first.name } : undefined;
}
