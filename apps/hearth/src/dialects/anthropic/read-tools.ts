import type { Tool } from "@hearth-and-keep/engine";
import { requestFailure } from "../../failures.ts";
import type { ToolChoice } from "../../generation/request.ts";
import type { CountTokensBody } from "./schema.ts";

export type ReadTools = {
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  /** Tools that only the vendor's own servers have. */
  readonly droppedTools: number;
};

export function readTools({ tools, tool_choice: choice }: CountTokensBody): ReadTools {
  const all = tools ?? [];
  const own = all.flatMap((tool): Tool[] => {
    if (!("input_schema" in tool)) return [];
    const { name, description, input_schema: parameters } = tool;
    return [{ name, parameters, ...(typeof description === "string" ? { description } : {}) }];
  });
  const droppedTools = all.length - own.length;
  return { tools: own, toolChoice: readChoice(choice, { own, droppedTools }), droppedTools };
}

type Offered = { readonly own: readonly Tool[]; readonly droppedTools: number };

function readChoice(choice: CountTokensBody["tool_choice"], { own, droppedTools }: Offered): ToolChoice {
  if (choice === undefined || choice === null) return { type: "auto" };
  if (choice.type === "none") return { type: "none" };
  const limit = choice.disable_parallel_tool_use === true ? { mostCalls: 1 } : {};
  if (choice.type === "auto") return { type: "auto", ...limit };
  const isOffered = choice.type === "any" ? own.length > 0 : own.some(({ name }) => name === choice.name);
  // The one it must call may be among those that were dropped; an error would stop an agent for good.
  if (!isOffered && droppedTools > 0) return { type: "auto", ...limit };
  if (!isOffered) throw notOffered(choice);
  return { type: "required", ...limit, ...(choice.type === "tool" ? { toolName: choice.name } : {}) };
}

function notOffered(
  choice: { readonly type: "any" } | { readonly type: "tool"; readonly name: string },
): Error {
  return choice.type === "any"
    ? requestFailure({ kind: "request-invalid", place: "tool_choice", reason: "needs tools" })
    : requestFailure({
        kind: "request-invalid",
        place: "tool_choice.name",
        reason: `names the tool "${choice.name}", which is not among the tools`,
      });
}
