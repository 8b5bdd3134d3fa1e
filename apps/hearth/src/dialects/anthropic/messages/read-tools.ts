import type { Tool } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";
import type { ToolChoice } from "../../../generation/request.ts";
import type { CountTokensBody } from "../schema.ts";

export type ReadTools = {
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  /** Tools that only Anthropic's own servers provide. */
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
  const limit = choice.disable_parallel_tool_use === true ? { maxCalls: 1 } : {};
  if (choice.type === "auto") return { type: "auto", ...limit };
  const isOffered = choice.type === "any" ? own.length > 0 : own.some(({ name }) => name === choice.name);
  // The required tool may be one of the dropped ones; an error would stop an agent permanently.
  if (!isOffered && droppedTools > 0) return { type: "auto", ...limit };
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
