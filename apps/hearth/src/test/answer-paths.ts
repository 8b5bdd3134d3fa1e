import { parameters, toolName } from "./damaged-calls.ts";

/** What a client gets, in the same form for every path. */
export type Answer = {
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly text: string;
  readonly isTruncated: boolean;
  /** Whether the reason says that there are calls; undefined if the API has no such reason. */
  readonly endsWithCalls: boolean | undefined;
};

export type AnswerPath = {
  readonly name: string;
  readonly path: string;
  readonly body: object;
  /** What requires a call; Ollama's API has no such field. */
  readonly required: object;
  readonly read: (response: string) => Answer;
};

const model = "tiny";
const messages = [{ role: "user", content: "What is the weather?" }];
const described = { name: toolName, description: "Tells the weather" };
const functionTool = { type: "function", function: { ...described, parameters } };

type WireFunction = { readonly name: string; readonly arguments: string };
type WireCall = { readonly function: WireFunction };
type OllamaObject = {
  readonly message?: {
    readonly content?: string;
    readonly tool_calls?: readonly {
      readonly function: { readonly name: string; readonly arguments: unknown };
    }[];
  };
  readonly done_reason?: string;
};
type WireChoice = {
  readonly message: { readonly content: string | null; readonly tool_calls?: readonly WireCall[] };
  readonly finish_reason: string;
};
type WireChunk = {
  readonly delta: {
    readonly content?: string;
    readonly tool_calls?: readonly {
      readonly index: number;
      readonly function: { readonly name?: string; readonly arguments: string };
    }[];
  };
  readonly finish_reason: string | null;
};
type WireMessage = {
  readonly content: readonly {
    readonly type: string;
    readonly name: string;
    readonly input: unknown;
    readonly text: string;
  }[];
  readonly stop_reason: string;
};
type WireItem = WireFunction & {
  readonly type: string;
  readonly status: string;
  readonly content: readonly { readonly text: string }[];
};
type WireResponse = { readonly output: readonly WireItem[]; readonly status: string };

/** Every way in which a client can get a call. */
export const answerPaths: readonly AnswerPath[] = [
  {
    name: "/api/chat, streamed",
    path: "/api/chat",
    body: { model, messages, tools: [functionTool] },
    required: {},
    read: readOllama,
  },
  {
    name: "/v1/chat/completions",
    path: "/v1/chat/completions",
    body: { model, messages, tools: [functionTool] },
    required: { tool_choice: "required" },
    read: readChoice,
  },
  {
    name: "/v1/chat/completions, streamed",
    path: "/v1/chat/completions",
    body: { model, messages, tools: [functionTool], stream: true },
    required: { tool_choice: "required" },
    read: readChunks,
  },
  {
    name: "/v1/messages",
    path: "/v1/messages",
    body: { model, messages, max_tokens: 100, tools: [{ ...described, input_schema: parameters }] },
    required: { tool_choice: { type: "any" } },
    read: readMessage,
  },
  {
    name: "/v1/responses",
    path: "/v1/responses",
    body: { model, input: "What is the weather?", tools: [{ type: "function", ...described, parameters }] },
    required: { tool_choice: "required" },
    read: readResponse,
  },
];

function readOllama(response: string): Answer {
  const objects = response
    .trim()
    .split("\n")
    .map((line): OllamaObject => JSON.parse(line));
  return {
    calls: objects
      .flatMap(({ message }) => (message?.tool_calls ?? []).map((call) => call.function))
      .map(nameAndArguments),
    text: objects.map(({ message }) => message?.content ?? "").join(""),
    isTruncated: objects.at(-1)?.done_reason === "length",
    endsWithCalls: undefined,
  };
}

function nameAndArguments({ name, arguments: given }: Answer["calls"][number]): Answer["calls"][number] {
  return { name, arguments: given };
}

function readChoice(response: string): Answer {
  const choice: WireChoice = JSON.parse(response).choices[0];
  return {
    calls: (choice.message.tool_calls ?? []).map(readCall),
    text: choice.message.content ?? "",
    isTruncated: choice.finish_reason === "length",
    endsWithCalls: choice.finish_reason === "tool_calls",
  };
}

/** A stream cannot withdraw a call that the token limit cut; its arguments are never valid JSON. */
function readChunks(response: string): Answer {
  const chunks = response
    .split("\n\n")
    .filter((frame) => frame.startsWith("data: {"))
    .map((frame): WireChunk => JSON.parse(frame.slice("data: ".length)).choices[0]);
  const calls: { name: string; arguments: string }[] = [];
  for (const { index, function: part } of chunks.flatMap(({ delta }) => delta.tool_calls ?? [])) {
    const call = (calls[index] ??= { name: part.name ?? "", arguments: "" });
    call.arguments += part.arguments;
  }
  const reason = chunks.at(-1)?.finish_reason;
  return {
    calls: calls
      .filter((call) => reason !== "length" || isJson(call.arguments))
      .map((call) => readCall({ function: call })),
    text: chunks.map(({ delta }) => delta.content ?? "").join(""),
    isTruncated: reason === "length",
    endsWithCalls: reason === "tool_calls",
  };
}

function readMessage(response: string): Answer {
  const { content, stop_reason: reason }: WireMessage = JSON.parse(response);
  const ofType = (type: string) => content.filter((block) => block.type === type);
  return {
    calls: ofType("tool_use").map(({ name, input }) => ({ name, arguments: input })),
    text: ofType("text")
      .map(({ text }) => text)
      .join(""),
    isTruncated: reason === "max_tokens",
    endsWithCalls: reason === "tool_use",
  };
}

function readResponse(response: string): Answer {
  const { output, status }: WireResponse = JSON.parse(response);
  const calls = output.filter((item) => item.type === "function_call" && item.status === "completed");
  const messageItems = output.filter((item) => item.type === "message");
  return {
    calls: calls.map((item) => readCall({ function: item })),
    text: messageItems.flatMap(({ content }) => content.map(({ text }) => text)).join(""),
    isTruncated: status === "incomplete",
    endsWithCalls: undefined,
  };
}

/** Throws unless the arguments are JSON. */
function readCall({ function: { name, arguments: written } }: WireCall): Answer["calls"][number] {
  return { name, arguments: JSON.parse(written) };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
