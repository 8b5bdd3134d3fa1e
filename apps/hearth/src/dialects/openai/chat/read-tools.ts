import type { JsonObject, Tool } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";
import type { ToolChoice } from "../../../generation/request.ts";
import type { ChatCompletionsBody, WireTool } from "../schema.ts";

export type OfferedTools = { readonly tools: readonly Tool[]; readonly toolChoice: ToolChoice };

/** The tools that the model may call, and whether it must call one. */
export function readTools(body: ChatCompletionsBody): OfferedTools {
  const tools = (body.tools ?? []).map(readTool);
  const choice = body.tool_choice ?? "auto";
  const limit = body.parallel_tool_calls === false ? { maxCalls: 1 } : {};
  if (typeof choice === "string") {
    if (choice === "required" && tools.length === 0)
      throw invalidChoice('is "required", but "tools" is empty');
    return { tools, toolChoice: { type: choice, ...limit } };
  }
  if (choice.type === "function") {
    const toolName = choice.function.name;
    requireOffered(tools, toolName);
    return { tools, toolChoice: { type: "required", toolName, maxCalls: 1 } };
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
    const reason =
      type === "function" ? 'is missing "function"' : `has the type "${type}"; only "function" is supported`;
    throw invalidField(`tools.${index}`, reason);
  }
  const { name, description, parameters, strict } = described;
  return {
    name,
    ...(strict === true ? { isStrict: true } : {}),
    ...(typeof description === "string" ? { description } : {}),
    // Part of the parsed JSON body, passed on unchanged.
    ...(parameters === undefined || parameters === null ? {} : { parameters: parameters as JsonObject }),
  };
}

function requireOffered(tools: readonly Tool[], toolName: string): void {
  if (!tools.some(({ name }) => name === toolName))
    throw invalidChoice(`names "${toolName}", which is not in "tools"`);
}

function invalidChoice(reason: string) {
  return invalidField("tool_choice", reason);
}
