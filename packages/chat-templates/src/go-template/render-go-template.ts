/**
 * @module
 * Go's text/template, as far as the templates in Ollama's stores use it: for model files that carry no Jinja
 * template. A conversation is told to it as Ollama's server does, so the prompts are the same bytes.
 * Templates come from untrusted files: source, nesting, steps and output are bounded, and a mistake of a template is
 * a TemplateError that says what it did. Imported by the parent folder, which runs in the worker.
 */
import type { Conversation, Message, ToolCall } from "@hearth-and-keep/engine";
import { Budget, defaultTemplateLimits, type TemplateLimits } from "../budget.ts";
import { failingAsOne } from "../chat-template.ts";
import { growLimits } from "../render-chat-template.ts";
import { TemplateError } from "../template-error.ts";
import { cutAfterResponse } from "./cut-response.ts";
import { listNames } from "./list-names.ts";
import { type RunOptions, runGoTemplate } from "./run-template.ts";
import { type ParsedTemplate, parseGoTemplate } from "./syntax.ts";
import { toolRecord } from "./tool-schema.ts";
import { fromJson, type GoValue, nil, textValue, truthValue, wholeValue } from "./values.ts";

export type GoTemplate = {
  readonly source: string;
  readonly parsed: ParsedTemplate;
  /** In lower case, every name it mentions: they tell what it can be given. */
  readonly names: ReadonlySet<string>;
};

export type GoRenderOptions = { readonly now: Date; readonly limits?: TemplateLimits };

export function readGoTemplate(source: string, limits: TemplateLimits = defaultTemplateLimits): GoTemplate {
  return failingAsOne(limits.milliseconds, () => {
    if (source.length > limits.sourceCharacters) {
      throw new TemplateError(`it is longer than ${limits.sourceCharacters} characters`, true);
    }
    const parsed = parseGoTemplate(source, new Budget(limits));
    const names = listNames(parsed);
    // A template that shows neither would say the same to every conversation.
    if (names.has("messages") || names.has("response")) return { source, parsed, names };
    const { nodes } = parseGoTemplate("{{ .Response }}", new Budget(limits));
    return { source, names, parsed: { ...parsed, nodes: [...parsed.nodes, ...nodes] } };
  });
}

export function renderGoTemplate(
  template: GoTemplate,
  conversation: Conversation,
  parts: GoRenderOptions,
): string {
  const limits = growLimits(parts.limits ?? defaultTemplateLimits, conversation.messages.length);
  return running({ ...parts, limits }, (run) => {
    const switches = thinkingSwitches(template, conversation);
    const messages = joinTurns(conversation.messages);
    return template.names.has("messages")
      ? runGoTemplate(template.parsed, conversationRecord(conversation, messages, switches), run)
      : renderTurns(template.parsed, { messages, switches, run });
  });
}

/** For a template with `.Suffix`: the prompt that has the model write what belongs between two texts. */
export function renderGoInsert(
  template: GoTemplate,
  { prefix, suffix }: { readonly prefix: string; readonly suffix: string },
  parts: GoRenderOptions,
): string {
  const texts = { Prompt: textValue(prefix), Suffix: textValue(suffix), Response: textValue("") };
  return running(parts, (run) => runGoTemplate(template.parsed, rootRecord(texts), run));
}

function running(
  { now, limits = defaultTemplateLimits }: GoRenderOptions,
  work: (run: RunOptions) => string,
): string {
  return failingAsOne(limits.milliseconds, () => work({ now, limits, budget: new Budget(limits) }));
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

/** What a form does not give is nothing and not a mistake: a template asks for `.Suffix` in a chat too. */
function rootRecord(given: Fields): GoValue {
  const empty = rootNames.map((name) => [name, nil] as const);
  return { kind: "record", name: "conversation", fields: new Map([...empty, ...Object.entries(given)]) };
}

/** A model that can think is asked to, unless the caller says otherwise. */
function thinkingSwitches({ names }: GoTemplate, { thinking, templateVariables = {} }: Conversation): Fields {
  const canThink = names.has("think") || names.has("thinking");
  const isOn = thinking ?? canThink;
  const { reasoning_effort: effort } = templateVariables;
  const level = typeof effort === "string" && effort !== "" ? effort : "medium";
  return {
    Think: truthValue(isOn),
    ThinkLevel: textValue(isOn ? level : ""),
    IsThinkSet: truthValue(canThink || thinking !== undefined),
  };
}

/** Turns of one speaker in a row are one turn, except for results of tools. */
function joinTurns(messages: readonly Message[]): readonly Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const before = joined.at(-1);
    if (before?.role === message.role && message.role !== "tool") {
      const content = `${before.content ?? ""}\n\n${message.content ?? ""}`;
      joined.splice(-1, 1, { ...before, content });
    } else joined.push(message);
  }
  return joined;
}

function conversationRecord(
  { messages: all, tools = [] }: Conversation,
  messages: readonly Message[],
  switches: Fields,
): GoValue {
  const system = all.filter(({ role }) => role === "system").map(({ content }) => content ?? "");
  return rootRecord({
    ...switches,
    System: textValue(system.join("\n\n")),
    Messages: { kind: "list", items: messages.map(messageRecord) },
    Tools: { kind: "list", items: tools.map(toolRecord), printsAsJson: true },
    Response: textValue(""),
  });
}

function messageRecord(message: Message): GoValue {
  const { role, content } = message;
  const { reasoning = "", toolCalls = [] } = message.role === "assistant" ? message : {};
  const { toolName = "", toolCallId = "" } = message.role === "tool" ? message : {};
  const fields: Fields = {
    Role: textValue(role),
    Content: textValue(content ?? ""),
    Thinking: textValue(reasoning),
    Images: { kind: "list", items: [] },
    ToolCalls: { kind: "list", items: toolCalls.map(callRecord) },
    ToolName: textValue(toolName),
    ToolCallID: textValue(toolCallId),
  };
  return { kind: "record", name: "message", fields: new Map(Object.entries(fields)) };
}

function callRecord({ id, name, arguments: given }: ToolCall, index: number): GoValue {
  const inner = fromJson(given);
  const called: Fields = {
    Index: wholeValue(index),
    Name: textValue(name),
    Arguments: inner.kind === "map" ? { ...inner, printsAsJson: true } : inner,
  };
  const calling: GoValue = { kind: "record", name: "tool call", fields: new Map(Object.entries(called)) };
  return {
    kind: "record",
    name: "tool call",
    fields: new Map([
      ["ID", textValue(id)],
      ["Function", calling],
    ]),
  };
}

type TurnParts = {
  readonly messages: readonly Message[];
  readonly switches: Fields;
  readonly run: RunOptions;
};

/** The old form: the template is one exchange, and is rendered once for each; the last is left open. */
function renderTurns(parsed: ParsedTemplate, { messages, switches, run }: TurnParts): string {
  let text = "";
  let turn = { system: "", prompt: "", response: "" };
  const write = (template: ParsedTemplate): void => {
    const { system, prompt, response } = turn;
    const texts = { System: textValue(system), Prompt: textValue(prompt), Response: textValue(response) };
    text += runGoTemplate(template, rootRecord({ ...switches, ...texts }), run);
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
