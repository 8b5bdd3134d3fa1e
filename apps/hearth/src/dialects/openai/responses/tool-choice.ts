import type { Tool } from "@hearth-and-keep/engine";
import type { ToolChoice } from "../../../generation/request.ts";
import { invalid } from "./invalid.ts";
import type { ResponsesRequest } from "./schema.ts";
import { shownNameOf, type ToolName } from "./tool-names.ts";

export type ChosenTools = { readonly toolChoice: ToolChoice; readonly tools: readonly Tool[] };

/** Which of the tools the model sees, and whether it must call one. */
export function chooseTools(body: ResponsesRequest, tools: readonly Tool[]): ChosenTools {
  const { toolChoice, tools: left } = readChoice(body.tool_choice ?? "auto", tools);
  const mostCalls = body.parallel_tool_calls === false ? { mostCalls: 1 } : {};
  if (toolChoice.type === "required" && left.length === 0) {
    throw invalid("tool_choice", "demands a call, but the request offers no function");
  }
  return { toolChoice: { ...toolChoice, ...mostCalls }, tools: left };
}

type Choice = NonNullable<ResponsesRequest["tool_choice"]>;

function readChoice(choice: Choice, tools: readonly Tool[]): ChosenTools {
  if (typeof choice === "string") return { toolChoice: { type: choice }, tools };
  if (choice.type === "function") {
    const toolName = nameIn(choice, tools, "tool_choice.name");
    return { toolChoice: { type: "required", toolName, mostCalls: 1 }, tools };
  }
  if (choice.type !== "allowed_tools") {
    throw invalid("tool_choice.type", `names no kind of tool that is here: "${choice.type}"`);
  }
  const allowed = new Set(
    (choice.tools ?? [])
      .filter(({ type }) => type === "function")
      .map((tool, index) => nameIn(tool, tools, `tool_choice.tools.${index}.name`)),
  );
  const left = tools.filter(({ name }) => allowed.has(name));
  return { toolChoice: { type: choice.mode ?? "auto" }, tools: left };
}

type Named = { readonly name?: string | null; readonly namespace?: string | null };

function nameIn({ name, namespace }: Named, tools: readonly Tool[], place: string): string {
  if (typeof name !== "string") throw invalid(place, "is missing");
  const wanted: ToolName = { name, ...(typeof namespace === "string" ? { namespace } : {}) };
  const shownName = shownNameOf(wanted);
  if (tools.some((tool) => tool.name === shownName)) return shownName;
  throw invalid(place, `names no function of the request: "${name}"`);
}
