import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";
import type { Budget } from "./budget.ts";
import { makeVariables, runTemplate } from "./run-template.ts";
import type { Body } from "./syntax.ts";
import { TemplateError } from "./template-error.ts";
import { observe, type Value } from "./values.ts";

/** What a template can be given, found out by trying it, because no template says. */
export type TemplateCapabilities = {
  readonly takesText: boolean;
  /** Content as a list of parts. */
  readonly takesParts: boolean;
  readonly takesSystem: boolean;
  /** The tools a caller offers are shown to the model. */
  readonly takesTools: boolean;
  readonly takesToolCalls: boolean;
  readonly takesArgumentsAsObject: boolean;
  /** Thoughts of earlier turns are shown, or the answer opens differently with and without thinking. */
  readonly thinks: boolean;
};

/** The same trials as llama.cpp's, because it adapts the messages by their outcome. */
export function findCapabilities(body: Body, budget: Budget): TemplateCapabilities {
  const attempt: Attempt = (messages, tools = [], variables = {}) =>
    tryTemplate(body, { messages, tools, ...variables }, budget);
  return {
    ...findContentForms(attempt),
    takesSystem: isUsed(attempt([system, user]).at("messages", 0, "content")),
    takesTools: isUsed(attempt([system, user], [probeTool]).at("tools", 0)),
    ...findToolForms(attempt),
    thinks: findThinking(attempt),
  };
}

type Trial = {
  /** Undefined when the template threw. */
  readonly text: string | undefined;
  readonly at: (...path: (string | number)[]) => Value | undefined;
};
type Attempt = (
  messages: readonly JsonObject[],
  tools?: readonly JsonObject[],
  variables?: JsonObject,
) => Trial;

const marker = "marked-by-the-probe";
const system = { role: "system", content: "Answer in one line." };
const user = { role: "user", content: "What time is it?" };

function tryTemplate(body: Body, tried: JsonObject, budget: Budget): Trial {
  const variables = makeVariables({ ...tried, bos_token: "", eos_token: "", add_generation_prompt: true });
  for (const value of variables.values()) observe(value);
  const at = (...path: (string | number)[]): Value | undefined => follow(variables, path);
  try {
    return { text: runTemplate(body, variables, { budget, now: new Date(0) }), at };
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
  const asObject = attempt(conversationWithCall({ zone: "UTC" }), [probeTool]);
  if (asObject.text !== undefined && !isUsed(asObject.at(...calls)))
    return { takesToolCalls: false, takesArgumentsAsObject: false };
  const isObjectRead = isUsed(asObject.at(...calls, 0, "function", "arguments", "zone"));
  if (asObject.text !== undefined && isObjectRead)
    return { takesToolCalls: true, takesArgumentsAsObject: true };
  const asText = attempt(conversationWithCall('{"zone": "value"}'), [probeTool]);
  return {
    takesToolCalls: asText.text !== undefined && isUsed(asText.at(...calls)),
    takesArgumentsAsObject: false,
  };
}

function findThinking(attempt: Attempt): boolean {
  const answer = { role: "assistant", content: "It is noon.", reasoning_content: marker };
  const shown = [
    [user, answer],
    [user, answer, user],
  ].some((messages) => attempt(messages, [], { enable_thinking: true }).text?.includes(marker));
  const opening = (isOn: boolean): string | undefined =>
    attempt([{ role: "user", content: marker }], [], { enable_thinking: isOn })
      .text?.split(marker)
      .at(-1);
  return shown || opening(true) !== opening(false);
}

function conversationWithCall(callArguments: JsonValue): JsonObject[] {
  // Nine letters and digits: one family refuses ids of any other form.
  const call = { id: "probe0001", type: "function", function: { name: "clock", arguments: callArguments } };
  return [
    user,
    { role: "assistant", content: "", tool_calls: [call] },
    { role: "tool", content: "12:00", tool_call_id: "probe0001" },
    { role: "assistant", content: "It is 12:00." },
    user,
  ];
}

const probeTool = {
  name: "clock",
  type: "function",
  function: {
    name: "clock",
    description: "Tells the time",
    parameters: {
      type: "object",
      properties: { zone: { type: "string", description: "The time zone" } },
      required: ["zone"],
    },
  },
};
