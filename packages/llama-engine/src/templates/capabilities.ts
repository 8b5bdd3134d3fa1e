import type { JsonObject, JsonValue } from "../port/conversation.ts";
import type { TemplateLimits } from "./budget.ts";
import { makeVariables, runTemplate } from "./run-template.ts";
import type { Body } from "./syntax.ts";
import { TemplateError } from "./template-error.ts";
import type { Value } from "./values.ts";

/** What a template can be given, found out by trying it, because no template says. */
export type TemplateCapabilities = {
  readonly takesText: boolean;
  /** Content as a list of parts. */
  readonly takesParts: boolean;
  readonly takesSystem: boolean;
  readonly takesToolCalls: boolean;
  readonly takesArgumentsAsObject: boolean;
};

/** The same trials as llama.cpp's, because it adapts the messages by their outcome. */
export function findCapabilities(body: Body, limits: TemplateLimits): TemplateCapabilities {
  const attempt = (messages: readonly JsonObject[], tools: readonly JsonObject[] = []): Trial =>
    tryTemplate(body, { messages, tools }, limits);
  return {
    ...findContentForms(attempt),
    takesSystem: isUsed(attempt([system, user]).at("messages", 0, "content")),
    ...findToolForms(attempt),
  };
}

type Trial = {
  /** Undefined when the template threw. */
  readonly text: string | undefined;
  readonly at: (...path: (string | number)[]) => Value | undefined;
};
type Attempt = (messages: readonly JsonObject[], tools?: readonly JsonObject[]) => Trial;

const marker = "STRING_MARKER";
const system = { role: "system", content: "System message" };
const user = { role: "user", content: "User message" };

function tryTemplate(body: Body, tried: JsonObject, limits: TemplateLimits): Trial {
  const variables = makeVariables({ ...tried, bos_token: "", eos_token: "", add_generation_prompt: true });
  const at = (...path: (string | number)[]): Value | undefined => follow(variables, path);
  try {
    return { text: runTemplate(body, variables, { limits, now: new Date(0) }), at };
  } catch (problem) {
    if (problem instanceof TemplateError && !problem.isOverLimit) return { text: undefined, at };
    throw problem;
  }
}

function follow(
  variables: ReadonlyMap<string, Value>,
  [first, ...rest]: readonly (string | number)[],
): Value | undefined {
  let value = variables.get(String(first));
  for (const step of rest) {
    if (value?.kind === "list" && typeof step === "number") value = value.items[step];
    else if (value?.kind === "object") value = value.entries.get(`s${step}`)?.value;
    else return undefined;
  }
  return value;
}

function isUsed(value: Value | undefined): boolean {
  return value?.marks?.has("used") ?? false;
}

function findContentForms(attempt: Attempt): Pick<TemplateCapabilities, "takesText" | "takesParts"> {
  const asText = attempt([{ role: "user", content: marker }]);
  const text = asText.at("messages", 0, "content");
  const isReadAsParts = isReadAsList(text);
  const takesText = asText.text !== undefined && (!isReadAsParts || asText.text.includes(marker));
  if (isReadAsParts || !(text?.marks?.has("is string") ?? false))
    return { takesText, takesParts: isReadAsParts };
  const asParts = attempt([{ role: "user", content: [] }]);
  const takesParts = asParts.text !== undefined && isReadAsList(asParts.at("messages", 0, "content"));
  return { takesText, takesParts };
}

function isReadAsList(value: Value | undefined): boolean {
  return ["selectattr", "array access"].some((operation) => value?.marks?.has(operation) ?? false);
}

function findToolForms(
  attempt: Attempt,
): Pick<TemplateCapabilities, "takesToolCalls" | "takesArgumentsAsObject"> {
  const calls = ["messages", 1, "tool_calls"] as const;
  const asObject = attempt(conversationWithCall({ arg: "value" }), [probeTool]);
  if (asObject.text !== undefined && !isUsed(asObject.at(...calls)))
    return { takesToolCalls: false, takesArgumentsAsObject: false };
  const isObjectRead = isUsed(asObject.at(...calls, 0, "function", "arguments", "arg"));
  if (asObject.text !== undefined && isObjectRead)
    return { takesToolCalls: true, takesArgumentsAsObject: true };
  const asText = attempt(conversationWithCall('{"arg": "value"}'), [probeTool]);
  return {
    takesToolCalls: asText.text !== undefined && isUsed(asText.at(...calls)),
    takesArgumentsAsObject: false,
  };
}

function conversationWithCall(callArguments: JsonValue): JsonObject[] {
  const call = { id: "call00001", type: "function", function: { name: "tool1", arguments: callArguments } };
  return [
    user,
    { role: "assistant", content: "", tool_calls: [call] },
    { role: "tool", content: "Tool response", tool_call_id: "call00001" },
    { role: "assistant", content: "The tool response was 'tool response'" },
    user,
  ];
}

const probeTool = {
  name: "tool",
  type: "function",
  function: {
    name: "tool1",
    description: "Tool description",
    parameters: {
      type: "object",
      properties: { arg: { type: "string", description: "Arg description" } },
      required: ["arg"],
    },
  },
};
