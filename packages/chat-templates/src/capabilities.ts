import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";
import type { Budget } from "./budget.ts";
import { createVariables, runTemplate } from "./run-template.ts";
import type { Body } from "./syntax.ts";
import { TemplateError } from "./template-error.ts";
import { observe, type Value } from "./values.ts";

/** What a template supports, determined by probing it, because templates do not declare it. */
export type TemplateCapabilities = {
  readonly acceptsText: boolean;
  /** Content as a list of content parts. */
  readonly acceptsContentList: boolean;
  readonly supportsSystem: boolean;
  /** Whether the tools of a request are shown to the model. */
  readonly supportsTools: boolean;
  readonly supportsToolCalls: boolean;
  readonly acceptsArgumentsObject: boolean;
  /**
   * Whether it renders the reasoning of earlier turns, or opens the next turn differently with and without thinking.
   */
  readonly supportsThinking: boolean;
};

/** Runs the same probes as llama.cpp, which adapts messages to their results. */
export function probeCapabilities(body: Body, budget: Budget): TemplateCapabilities {
  const probe: Probe = (messages, tools = [], variables = {}) =>
    probeTemplate(body, { messages, tools, ...variables }, budget);
  return {
    ...probeContentForms(probe),
    supportsSystem: isUsed(probe([system, user]).at("messages", 0, "content")),
    supportsTools: isUsed(probe([system, user], [probeTool]).at("tools", 0)),
    ...probeToolForms(probe),
    supportsThinking: probeThinking(probe),
  };
}

type ProbeResult = {
  /** Undefined if the template threw. */
  readonly text: string | undefined;
  readonly at: (...path: (string | number)[]) => Value | undefined;
};
type Probe = (
  messages: readonly JsonObject[],
  tools?: readonly JsonObject[],
  variables?: JsonObject,
) => ProbeResult;

const marker = "probe-marker";
const system = { role: "system", content: "Answer in one line." };
const user = { role: "user", content: "What time is it?" };

function probeTemplate(body: Body, input: JsonObject, budget: Budget): ProbeResult {
  const variables = createVariables({ ...input, bos_token: "", eos_token: "", add_generation_prompt: true });
  for (const value of variables.values()) observe(value);
  const at = (...path: (string | number)[]): Value | undefined => follow(variables, path);
  try {
    return { text: runTemplate(body, variables, { budget, now: new Date(0) }), at };
  } catch (error) {
    if (error instanceof TemplateError && !error.isOverLimit) return { text: undefined, at };
    throw error;
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
  return value?.uses?.has("used") ?? false;
}

function probeContentForms(probe: Probe): Pick<TemplateCapabilities, "acceptsText" | "acceptsContentList"> {
  const asText = probe([{ role: "user", content: marker }]);
  const text = asText.at("messages", 0, "content");
  const isReadAsContentList = isReadAsList(text);
  const acceptsText = asText.text !== undefined && (!isReadAsContentList || asText.text.includes(marker));
  if (isReadAsContentList || !(text?.uses?.has("is string") ?? false))
    return { acceptsText, acceptsContentList: isReadAsContentList };
  const asContentList = probe([{ role: "user", content: [] }]);
  const acceptsContentList =
    asContentList.text !== undefined && isReadAsList(asContentList.at("messages", 0, "content"));
  return { acceptsText, acceptsContentList };
}

function isReadAsList(value: Value | undefined): boolean {
  return ["selectattr", "array access"].some((operation) => value?.uses?.has(operation) ?? false);
}

function probeToolForms(
  probe: Probe,
): Pick<TemplateCapabilities, "supportsToolCalls" | "acceptsArgumentsObject"> {
  const calls = ["messages", 1, "tool_calls"] as const;
  const asObject = probe(conversationWithCall({ zone: "UTC" }), [probeTool]);
  if (asObject.text !== undefined && !isUsed(asObject.at(...calls)))
    return { supportsToolCalls: false, acceptsArgumentsObject: false };
  const isObjectRead = isUsed(asObject.at(...calls, 0, "function", "arguments", "zone"));
  if (asObject.text !== undefined && isObjectRead)
    return { supportsToolCalls: true, acceptsArgumentsObject: true };
  const asText = probe(conversationWithCall('{"zone": "value"}'), [probeTool]);
  return {
    supportsToolCalls: asText.text !== undefined && isUsed(asText.at(...calls)),
    acceptsArgumentsObject: false,
  };
}

function probeThinking(probe: Probe): boolean {
  const reply = { role: "assistant", content: "It is noon.", reasoning_content: marker };
  const shown = [
    [user, reply],
    [user, reply, user],
  ].some((messages) => probe(messages, [], { enable_thinking: true }).text?.includes(marker));
  const opening = (isOn: boolean): string | undefined =>
    probe([{ role: "user", content: marker }], [], { enable_thinking: isOn })
      .text?.split(marker)
      .at(-1);
  return shown || opening(true) !== opening(false);
}

function conversationWithCall(callArguments: JsonValue): JsonObject[] {
  // Nine letters and digits: one model family rejects ids of any other form.
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
    description: "Returns the current time",
    parameters: {
      type: "object",
      properties: { zone: { type: "string", description: "The time zone" } },
      required: ["zone"],
    },
  },
};
