/**
 * @module
 * Go's text/template, as far as the templates in Ollama's stores use it, for model files without a Jinja template. A
 * conversation is passed to it as Ollama's server does, so the prompts are identical bytes.
 * Templates come from untrusted files: source, nesting, steps and output are bounded, and an error in a template is a
 * TemplateError that describes it. Imported by the parent folder, which runs in the worker.
 */
import type { Conversation, Message, ToolCall } from "@hearth-and-keep/engine";
import { Budget, defaultTemplateLimits, type TemplateLimits } from "../budget.ts";
import { withTemplateFailure } from "../chat-template.ts";
import { scaleLimits } from "../render-chat-template.ts";
import { TemplateError } from "../template-error.ts";
import { cutAfterResponse } from "./cut-response.ts";
import { listNames } from "./list-names.ts";
import { type RunOptions, runGoTemplate } from "./run-template.ts";
import { type ParsedTemplate, parseGoTemplate } from "./syntax.ts";
import { toolRecord } from "./tool-schema.ts";
import { booleanValue, fromJson, type GoValue, integerValue, nil, stringValue } from "./values.ts";

export type GoTemplate = {
  readonly source: string;
  readonly parsed: ParsedTemplate;
  /** All names it references, in lower case; they show what it supports. */
  readonly names: ReadonlySet<string>;
};

export type GoRenderOptions = { readonly now: Date; readonly limits?: TemplateLimits };

export function parseGoSource(source: string, limits: TemplateLimits = defaultTemplateLimits): GoTemplate {
  return withTemplateFailure(limits.milliseconds, () => {
    if (source.length > limits.sourceCharacters) {
      throw new TemplateError(`it exceeds the limit of ${limits.sourceCharacters} characters`, true);
    }
    const parsed = parseGoTemplate(source, new Budget(limits));
    const names = listNames(parsed);
    // Without either of them, the output would not depend on the conversation.
    if (names.has("messages") || names.has("response")) return { source, parsed, names };
    const { nodes } = parseGoTemplate("{{ .Response }}", new Budget(limits));
    return { source, names, parsed: { ...parsed, nodes: [...parsed.nodes, ...nodes] } };
  });
}

export function renderGoTemplate(
  template: GoTemplate,
  conversation: Conversation,
  options: GoRenderOptions,
): string {
  const limits = scaleLimits(options.limits ?? defaultTemplateLimits, conversation.messages.length);
  return runWithLimits({ ...options, limits }, (run) => {
    const thinking = thinkingFields(template, conversation);
    const messages = mergeTurns(conversation.messages);
    return template.names.has("messages")
      ? runGoTemplate(template.parsed, conversationRecord(conversation, messages, thinking), run)
      : renderTurns(template.parsed, { messages, thinking, run });
  });
}

/** Renders a fill-in-the-middle prompt with a template that uses `.Suffix`. */
export function renderGoInsert(
  template: GoTemplate,
  { prefix, suffix }: { readonly prefix: string; readonly suffix: string },
  options: GoRenderOptions,
): string {
  const texts = { Prompt: stringValue(prefix), Suffix: stringValue(suffix), Response: stringValue("") };
  return runWithLimits(options, (run) => runGoTemplate(template.parsed, rootRecord(texts), run));
}

function runWithLimits(
  { now, limits = defaultTemplateLimits }: GoRenderOptions,
  work: (run: RunOptions) => string,
): string {
  return withTemplateFailure(limits.milliseconds, () => work({ now, limits, budget: new Budget(limits) }));
}

type Fields = Readonly<Record<string, GoValue>>;

const rootNames = [
  "System",
  "Messages",
  "Tools",
  "Prompt",
  "Suffix",
  "Response",
  "Think",
  "ThinkLevel",
  "IsThinkSet",
];

/** Absent fields are nil and not an error: templates reference `.Suffix` in a chat too. */
function rootRecord(given: Fields): GoValue {
  const empty = rootNames.map((name) => [name, nil] as const);
  return { kind: "record", name: "conversation", fields: new Map([...empty, ...Object.entries(given)]) };
}

/** Thinking is enabled if the template supports it, unless the request disables it. */
function thinkingFields({ names }: GoTemplate, { thinking, templateVariables = {} }: Conversation): Fields {
  const canThink = names.has("think") || names.has("thinking");
  const isOn = thinking ?? canThink;
  const { reasoning_effort: effort } = templateVariables;
  const level = typeof effort === "string" && effort !== "" ? effort : "medium";
  return {
    Think: booleanValue(isOn),
    ThinkLevel: stringValue(isOn ? level : ""),
    IsThinkSet: booleanValue(canThink || thinking !== undefined),
  };
}

/** Merges consecutive messages of the same role, except tool results. */
function mergeTurns(messages: readonly Message[]): readonly Message[] {
  const merged: Message[] = [];
  for (const message of messages) {
    const before = merged.at(-1);
    if (before?.role === message.role && message.role !== "tool") {
      const content = `${before.content ?? ""}\n\n${message.content ?? ""}`;
      merged.splice(-1, 1, { ...before, content });
    } else merged.push(message);
  }
  return merged;
}

function conversationRecord(
  { messages: all, tools = [] }: Conversation,
  messages: readonly Message[],
  thinking: Fields,
): GoValue {
  const system = all.filter(({ role }) => role === "system").map(({ content }) => content ?? "");
  return rootRecord({
    ...thinking,
    System: stringValue(system.join("\n\n")),
    Messages: { kind: "list", items: messages.map(messageRecord) },
    Tools: { kind: "list", items: tools.map(toolRecord), printsAsJson: true },
    Response: stringValue(""),
  });
}

function messageRecord(message: Message): GoValue {
  const { role, content } = message;
  const { reasoning = "", toolCalls = [] } = message.role === "assistant" ? message : {};
  const { toolName = "", toolCallId = "" } = message.role === "tool" ? message : {};
  const fields: Fields = {
    Role: stringValue(role),
    Content: stringValue(content ?? ""),
    Thinking: stringValue(reasoning),
    Images: { kind: "list", items: [] },
    ToolCalls: { kind: "list", items: toolCalls.map(callRecord) },
    ToolName: stringValue(toolName),
    ToolCallID: stringValue(toolCallId),
  };
  return { kind: "record", name: "message", fields: new Map(Object.entries(fields)) };
}

function callRecord({ id, name, arguments: given }: ToolCall, index: number): GoValue {
  const inner = fromJson(given);
  const called: Fields = {
    Index: integerValue(index),
    Name: stringValue(name),
    Arguments: inner.kind === "map" ? { ...inner, printsAsJson: true } : inner,
  };
  const functionRecord: GoValue = {
    kind: "record",
    name: "tool call",
    fields: new Map(Object.entries(called)),
  };
  return {
    kind: "record",
    name: "tool call",
    fields: new Map([
      ["ID", stringValue(id)],
      ["Function", functionRecord],
    ]),
  };
}

type TurnContext = {
  readonly messages: readonly Message[];
  readonly thinking: Fields;
  readonly run: RunOptions;
};

/** Legacy templates describe a single exchange and are rendered once per exchange; the last one is left open. */
function renderTurns(parsed: ParsedTemplate, { messages, thinking, run }: TurnContext): string {
  let text = "";
  let turn = { system: "", prompt: "", response: "" };
  const write = (template: ParsedTemplate): void => {
    const { system, prompt, response } = turn;
    const texts = {
      System: stringValue(system),
      Prompt: stringValue(prompt),
      Response: stringValue(response),
    };
    text += runGoTemplate(template, rootRecord({ ...thinking, ...texts }), run);
    run.budget.measure(text);
    turn = { system: "", prompt: "", response: "" };
  };
  for (const { role, content } of messages) {
    if (role === "system") {
      if (turn.prompt !== "" || turn.response !== "") write(parsed);
      turn.system = content;
    } else if (role === "user") {
      if (turn.response !== "") write(parsed);
      turn.prompt = content;
    } else if (role === "assistant") turn.response = content ?? "";
  }
  write({ ...parsed, nodes: cutAfterResponse(parsed.nodes) });
  return text;
}
