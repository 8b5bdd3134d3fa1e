import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";

// Some model families read reasoning or tool results from different fields. llama.cpp recognizes them by markers in the
// template source and moves the fields. We do the same, so that both render the same prompt.

type Adjust = (messages: readonly JsonObject[]) => JsonObject[];
type Family = { readonly matches: (source: string) => boolean; readonly adjust: Adjust };

const families: readonly Family[] = [
  { matches: isMinistral, adjust: (messages) => messages.map(toThinkingContent) },
  {
    matches: (source) => source.includes("<|channel|>"),
    adjust: (messages) => messages.map(toThinkingWithoutContent),
  },
  { matches: isLfm, adjust: (messages) => messages.map(toThinking) },
  { matches: isDeepSeekV4, adjust: sortResults },
  { matches: isOlderGemma, adjust: joinResults },
];

export function adjustForFamily(messages: readonly JsonObject[], source: string): JsonObject[] {
  const family = families.find(({ matches }) => matches(source));
  return family?.adjust(messages) ?? [...messages];
}

function isMinistral(source: string): boolean {
  return (
    ["[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[ARGS]"].every((marker) => source.includes(marker)) &&
    !source.includes("[CALL_ID]")
  );
}

function isLfm(source: string): boolean {
  if (source.includes("<|tool_list_start|>")) return source.includes("<|tool_list_end|>");
  return source.includes("List of tools: [");
}

function isDeepSeekV4(source: string): boolean {
  const hasMarkers = ["dsml_token", "DSML", "tool_calls"].every((marker) => source.includes(marker));
  return hasMarkers && !source.includes("function_calls");
}

function isOlderGemma(source: string): boolean {
  return source.includes("'<|tool_call>call:'") && !source.includes("{#- OpenAI Chat Completions:");
}

function toThinkingContent(message: JsonObject): JsonObject {
  if (message["role"] !== "system" && message["role"] !== "assistant") return message;
  const { reasoning_content: thinking, content, ...rest } = message;
  const contentParts: JsonValue[] = typeof thinking === "string" ? [{ type: "thinking", thinking }] : [];
  if (typeof content === "string") contentParts.push({ type: "text", text: content });
  else if (Array.isArray(content)) contentParts.push(...content);
  return { ...rest, content: contentParts };
}

function toThinking(message: JsonObject): JsonObject {
  const { reasoning_content: thinking } = message;
  return typeof thinking === "string" ? { ...message, thinking } : message;
}

/** A turn with reasoning and tool calls has no content. */
function toThinkingWithoutContent(message: JsonObject): JsonObject {
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

/** Sorts tool results by the order of their calls, which may differ from the order in which they arrived. */
function sortResults(messages: readonly JsonObject[]): JsonObject[] {
  const sorted: JsonObject[] = [];
  let order = new Map<unknown, number>();
  for (const run of groupByTurn(messages)) {
    const calls = run.flatMap((message) => (message["role"] === "assistant" ? callsOf(message) : []));
    if (calls.length > 0) order = new Map(calls.map((call, index) => [call["id"], index]));
    const orderOf = (message: JsonObject): number => order.get(message["tool_call_id"]) ?? 0;
    const results = run
      .filter(({ role }) => role === "tool")
      .toSorted((one, other) => orderOf(one) - orderOf(other));
    sorted.push(
      ...run.map((message) => (message["role"] === "tool" ? (results.shift() ?? message) : message)),
    );
  }
  return sorted;
}

/** Consecutive user and tool messages form one turn of the prompt; every other message is its own turn. */
function groupByTurn(messages: readonly JsonObject[]): JsonObject[][] {
  const runs: JsonObject[][] = [];
  for (const message of messages) {
    const last = runs.at(-1);
    if (last !== undefined && isUserOrTool(message) && isUserOrTool(last[0])) last.push(message);
    else runs.push([message]);
  }
  return runs;
}

function isUserOrTool(message: JsonObject | undefined): boolean {
  return message?.["role"] === "user" || message?.["role"] === "tool";
}

/** Merges calls, their results and the reply that follows into one message. */
function joinResults(messages: readonly JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = [];
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index] ?? {};
    const calls = callsOf(message);
    if (calls.length === 0) {
      joined.push(message);
      continue;
    }
    const results: JsonObject[] = [];
    while (messages[index + 1]?.["role"] === "tool") {
      index += 1;
      results.push(writeToolResult(messages[index] ?? {}, calls[results.length]));
    }
    const next = messages[index + 1];
    const hasReply =
      next?.["role"] === "assistant" && callsOf(next).length === 0 && isNonEmpty(next["content"]);
    if (hasReply) index += 1;
    joined.push({
      role: "assistant",
      tool_calls: calls,
      ...(results.length === 0 ? {} : { tool_responses: results }),
      ...(hasReply ? { content: next["content"] ?? "" } : {}),
      ...("reasoning_content" in message ? { reasoning_content: message["reasoning_content"] ?? "" } : {}),
    });
  }
  return joined;
}

function isNonEmpty(content: JsonValue | undefined): boolean {
  return (typeof content === "string" || Array.isArray(content)) && content.length > 0;
}

function writeToolResult(message: JsonObject, call: JsonObject | undefined): JsonObject {
  const called = call?.["function"];
  const name =
    typeof called === "object" && called !== null && "name" in called
      ? called["name"]
      : message["tool_call_id"];
  return { name: name ?? "", response: parseJsonOr(message["content"] ?? null) };
}

function parseJsonOr(content: JsonValue): JsonValue {
  if (typeof content !== "string") return content;
  const parsed = parseBoundedJson(content);
  // Any JSON is a JsonValue.
  return parsed === undefined ? content : (parsed as JsonValue);
}
