import type { Conversation, Message } from "@hearth-and-keep/engine";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { parseModelTemplate } from "../model-template.ts";
import recorded from "./fixtures/recorded-renderings.json" with { type: "json" };
import { parseGoSource, renderGoTemplate } from "./render-go-template.ts";

type Rendering = { readonly status: number; readonly rendered: string | null };

const conversations = new Map<string, Conversation>([
  ...Object.entries(recorded.conversations).map(
    ([name, conversation]) => [name, readConversation(conversation)] as const,
  ),
  [
    "generate with system",
    {
      messages: [
        { role: "system", content: "S." },
        { role: "user", content: "Why?" },
      ],
    },
  ],
]);

test("every recorded template renders the same prompt as Ollama, or is recognized as not supporting tools", () => {
  const outcomes = recorded.templates.flatMap(({ name, template, renderings }) =>
    Object.entries<Rendering>(renderings).map(([title, { status, rendered }]) => ({
      title: `${name}, ${title}`,
      recorded: status === 200 ? rendered : noTools,
      ours: renderOrReject(template, title),
    })),
  );
  expect(outcomes.filter(({ ours, recorded: theirs }) => ours !== theirs)).toEqual([]);
  const rejected = outcomes.filter(({ ours }) => ours === noTools).length;
  const equal = outcomes.length;
  expect({ equal, rejected }).toEqual({ equal: 60, rejected: 11 });
  recordFigure({
    claim: "store 4",
    text: `${equal} of 60 recorded Go templates equal: ${equal - rejected} prompts byte for byte, ${rejected} rejected`,
    counted: { reached: equal, needed: 60 },
  });
});

const noTools = "does not support tools";

/** Ollama rejects tools before rendering if the template does not support them. */
function renderOrReject(template: string, title: string): string {
  const conversation = conversations.get(title);
  if (conversation === undefined) throw new Error(`Cannot find the conversation "${title}"`);
  const { capabilities } = parseModelTemplate({ default: null }, template);
  if ((conversation.tools ?? []).length > 0 && !capabilities.tools) return noTools;
  return renderGoTemplate(parseGoSource(template), conversation, { now: new Date() });
}

type RecordedMessage = {
  readonly role: string;
  readonly content: string;
  readonly tool_name?: string;
  readonly tool_calls?: readonly {
    readonly function: { readonly name: string; readonly arguments: Record<string, string | number> };
  }[];
};
type RecordedConversation = {
  readonly messages: readonly RecordedMessage[];
  readonly tools?: readonly { readonly function: NonNullable<Conversation["tools"]>[number] }[];
};

function readConversation({ messages, tools = [] }: RecordedConversation): Conversation {
  return { messages: messages.map(readMessage), tools: tools.map((tool) => tool.function) };
}

function readMessage({ role, content, tool_name, tool_calls = [] }: RecordedMessage): Message {
  switch (role) {
    case "system":
    case "user":
      return { role, content };
    case "assistant":
      return {
        role,
        content,
        toolCalls: tool_calls.map((call, index) => ({ id: `call_${index}`, ...call.function })),
      };
    default:
      return { role: "tool", content, ...(tool_name === undefined ? {} : { toolName: tool_name }) };
  }
}
