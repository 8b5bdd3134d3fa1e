import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";

// Some families read thoughts or tool results from other fields than the rest. llama.cpp tells them by marks in
// the template's source and moves the fields; the same is done here, so that both show the model the same prompt.

type Adjust = (messages: readonly JsonObject[]) => JsonObject[];
type Family = { readonly isMeant: (source: string) => boolean; readonly adjust: Adjust };

const families: readonly Family[] = [
  { isMeant: isMinistral, adjust: (messages) => messages.map(toThinkingParts) },
  {
    isMeant: (source) => source.includes("<|channel|>"),
    adjust: (messages) => messages.map(toThinkingAlone),
  },
  { isMeant: isLfm, adjust: (messages) => messages.map(toThinking) },
  { isMeant: isDeepSeekFour, adjust: sortResults },
  { isMeant: isOlderGemma, adjust: joinResults },
];

export function adjustForFamily(messages: readonly JsonObject[], source: string): JsonObject[] {
  const family = families.find(({ isMeant }) => isMeant(source));
  return family?.adjust(messages) ?? [...messages];
}

function isMinistral(source: string): boolean {
  return (
    ["[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[ARGS]"].every((mark) => source.includes(mark)) &&
    !source.includes("[CALL_ID]")
  );
}

function isLfm(source: string): boolean {
  if (source.includes("<|tool_list_start|>")) return source.includes("<|tool_list_end|>");
  return source.includes("List of tools: [");
}

function isDeepSeekFour(source: string): boolean {
  const isMarked = ["dsml_token", "DSML", "tool_calls"].every((mark) => source.includes(mark));
  return isMarked && !source.includes("function_calls");
}

function isOlderGemma(source: string): boolean {
  return source.includes("'<|tool_call>call:'") && !source.includes("{#- OpenAI Chat Completions:");
}

function toThinkingParts(message: JsonObject): JsonObject {
  if (message["role"] !== "system" && message["role"] !== "assistant") return message;
  const { reasoning_content: thinking, content, ...rest } = message;
  const parts: JsonValue[] = typeof thinking === "string" ? [{ type: "thinking", thinking }] : [];
  if (typeof content === "string") parts.push({ type: "text", text: content });
  else if (Array.isArray(content)) parts.push(...content);
  return { ...rest, content: parts };
}

function toThinking(message: JsonObject): JsonObject {
  const { reasoning_content: thinking } = message;
  return typeof thinking === "string" ? { ...message, thinking } : message;
}

/** A turn that thinks and then calls a tool shows no text. */
function toThinkingAlone(message: JsonObject): JsonObject {
  const moved = toThinking(message);
  if (!("thinking" in moved) || callsOf(moved).length === 0) return moved;
  const { content: _, ...rest } = moved;
  return rest;
}

function callsOf(message: JsonObject): readonly JsonObject[] {
  const calls = message["tool_calls"];
  // template-messages.ts writes calls as objects.
  return Array.isArray(calls) ? (calls as readonly JsonObject[]) : [];
}

/** Results follow the order of the calls they answer, which need not be the order they arrived in. */
function sortResults(messages: readonly JsonObject[]): JsonObject[] {
  const sorted: JsonObject[] = [];
  let order = new Map<unknown, number>();
  for (const run of groupByTurn(messages)) {
    const calls = run.flatMap((message) => (message["role"] === "assistant" ? callsOf(message) : []));
    if (calls.length > 0) order = new Map(calls.map((call, place) => [call["id"], place]));
    const placeOf = (message: JsonObject): number => order.get(message["tool_call_id"]) ?? 0;
    const results = run
      .filter(({ role }) => role === "tool")
      .toSorted((one, other) => placeOf(one) - placeOf(other));
    sorted.push(
      ...run.map((message) => (message["role"] === "tool" ? (results.shift() ?? message) : message)),
    );
  }
  return sorted;
}

/** Neighbouring user and tool messages make one turn of the prompt; every other message is its own. */
function groupByTurn(messages: readonly JsonObject[]): JsonObject[][] {
  const runs: JsonObject[][] = [];
  for (const message of messages) {
    const last = runs.at(-1);
    if (last !== undefined && isAsking(message) && isAsking(last[0])) last.push(message);
    else runs.push([message]);
  }
  return runs;
}

function isAsking(message: JsonObject | undefined): boolean {
  return message?.["role"] === "user" || message?.["role"] === "tool";
}

/** Calls, their results and the answer that follows become one message. */
function joinResults(messages: readonly JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = [];
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at] ?? {};
    const calls = callsOf(message);
    if (calls.length === 0) {
      joined.push(message);
      continue;
    }
    const results: JsonObject[] = [];
    while (messages[at + 1]?.["role"] === "tool") {
      at += 1;
      results.push(writeResult(messages[at] ?? {}, calls[results.length]));
    }
    const next = messages[at + 1];
    const isAnswer =
      next?.["role"] === "assistant" && callsOf(next).length === 0 && isFilled(next["content"]);
    if (isAnswer) at += 1;
    joined.push({
      role: "assistant",
      tool_calls: calls,
      ...(results.length === 0 ? {} : { tool_responses: results }),
      ...(isAnswer ? { content: next["content"] ?? "" } : {}),
      ...("reasoning_content" in message ? { reasoning_content: message["reasoning_content"] ?? "" } : {}),
    });
  }
  return joined;
}

function isFilled(content: JsonValue | undefined): boolean {
  return (typeof content === "string" || Array.isArray(content)) && content.length > 0;
}

function writeResult(message: JsonObject, call: JsonObject | undefined): JsonObject {
  const called = call?.["function"];
  const name =
    typeof called === "object" && called !== null && "name" in called
      ? called["name"]
      : message["tool_call_id"];
  return { name: name ?? "", response: readJsonOr(message["content"] ?? null) };
}

function readJsonOr(content: JsonValue): JsonValue {
  if (typeof content !== "string") return content;
  try {
    // Any JSON is a JsonValue.
    return JSON.parse(content) as JsonValue;
  } catch {
    return content;
  }
}
