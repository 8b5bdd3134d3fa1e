import type { EngineDescription, Message, Tool } from "@hearth-and-keep/engine";
import type { GenerationRequest } from "./request.ts";

/**
 * A template that knows nothing of tools would leave them out without a word. Then they are told to the model in
 * the system text, with the format its calls are read in; the tools stay in the conversation, for those who read.
 */
export function tellTools(
  { templateAbilities, splitsEvents }: EngineDescription,
  request: GenerationRequest,
): GenerationRequest {
  const { input } = request;
  if (input.type !== "conversation" || templateAbilities?.tools === true) return request;
  // Who splits answers itself shows tools too, unless it says that its template cannot.
  if (splitsEvents && templateAbilities === undefined) return request;
  const { tools = [], messages } = input.conversation;
  if (tools.length === 0) return request;
  const conversation = { ...input.conversation, messages: withSystemText(messages, describeTools(tools)) };
  return { ...request, input: { ...input, conversation } };
}

function describeTools(tools: readonly Tool[]): string {
  const lines = tools.map((tool) => JSON.stringify({ type: "function", function: tool }));
  return [
    "You can call these functions:",
    ...lines,
    "To call one, write a JSON object with its name and arguments between tags:",
    "<tool_call>",
    '{"name": "function name", "arguments": {"argument name": "value"}}',
    "</tool_call>",
  ].join("\n");
}

function withSystemText(messages: readonly Message[], text: string): readonly Message[] {
  const [first, ...rest] = messages;
  if (first?.role !== "system") return [{ role: "system", content: text }, ...messages];
  return [{ role: "system", content: `${first.content}\n\n${text}` }, ...rest];
}
