/**
 * @module
 * `POST /v1/responses`: input items in, output items out, complete or as numbered events. Every event carries the exact
 * position of its item, and every stream has exactly one terminal event, even if the engine fails midway.
 * Imported by `routes.ts`; `response-store.ts` also by `dependencies.ts` and `commands/serve.ts`.
 */
import { randomBytes } from "node:crypto";
import type { JsonObject, TokenProbability } from "@hearth-and-keep/engine";
import { parseArguments } from "../parse-arguments.ts";
import { writeTokens } from "../response-fields.ts";
import type { CalledTool, ToolName } from "./tool-names.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

export type OutputItem = GeneratedItem | CompactionItem;

/** A summary of the conversation that only this server can read; it has no status. */
type CompactionItem = {
  readonly id: string;
  readonly type: "compaction";
  readonly encrypted_content: string;
};

type GeneratedItem = {
  readonly id: string;
  readonly status: ItemStatus;
} & (
  | { readonly type: "message"; readonly role: "assistant"; readonly content: readonly OutputText[] }
  | {
      readonly type: "reasoning";
      readonly summary: readonly SummaryText[];
      readonly encrypted_content?: string;
    }
  | (ToolName & { readonly type: "function_call"; readonly call_id: string; readonly arguments: string })
  | (ToolName & { readonly type: "custom_tool_call"; readonly call_id: string; readonly input: string })
  | {
      readonly type: "tool_search_call";
      readonly call_id: string;
      readonly execution: "client";
      readonly arguments: JsonObject;
    }
);

type OutputText = {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations: readonly never[];
  readonly logprobs: Readonly<WireTokens>;
};
type WireTokens = ReturnType<typeof writeTokens>;
type SummaryText = { readonly type: "summary_text"; readonly text: string };

/** An event without its sequence number. */
export type UnnumberedEvent = { readonly type: string; readonly [field: string]: unknown };

/** An item that is still being generated. Call its functions in order: begin, write, end. */
export type OpenItem = {
  readonly type: OutputItem["type"];
  /** The item as of now. */
  readonly snapshot: (status: ItemStatus) => OutputItem;
  readonly begin: () => readonly UnnumberedEvent[];
  /** `tokens` are those of the text, if log-probabilities were requested. */
  readonly write: (text: string, tokens?: readonly TokenProbability[]) => readonly UnnumberedEvent[];
  /** All final events but `output_item.done`, which is the same for every type. */
  readonly end: () => readonly UnnumberedEvent[];
};

export function createId(
  prefix: "resp" | "conv" | "msg" | "rs" | "fc" | "ctc" | "tsc" | "cmp" | "item",
): string {
  return `${prefix}_${randomBytes(24).toString("hex")}`;
}

export function openMessage(outputIndex: number): OpenItem {
  const id = createId("msg");
  const position = { item_id: id, output_index: outputIndex, content_index: 0 };
  let text = "";
  const logprobs: WireTokens = [];
  const part = (): OutputText => ({ type: "output_text", annotations: [], logprobs: [...logprobs], text });
  return {
    type: "message",
    snapshot: (status) => {
      const content = status === "in_progress" ? [] : [part()];
      return { id, type: "message", status, role: "assistant", content };
    },
    begin: () => [{ type: "response.content_part.added", ...position, part: part() }],
    write: (delta, tokens = []) => {
      text += delta;
      const written = writeTokens(tokens);
      logprobs.push(...written);
      return [{ type: "response.output_text.delta", ...position, delta, logprobs: written }];
    },
    end: () => [
      { type: "response.output_text.done", ...position, text, logprobs },
      { type: "response.content_part.done", ...position, part: part() },
    ],
  };
}

/** The complete reasoning is sent as the summary, which is the only part that clients show. */
export function openReasoning(outputIndex: number, seal?: (text: string) => string): OpenItem {
  const id = createId("rs");
  const position = { item_id: id, output_index: outputIndex, summary_index: 0 };
  let text = "";
  const part = (): SummaryText => ({ type: "summary_text", text });
  return {
    type: "reasoning",
    snapshot: (status) => {
      if (status === "in_progress") return { id, type: "reasoning", status, summary: [] };
      const sealed = seal === undefined ? {} : { encrypted_content: seal(text) };
      return { id, type: "reasoning", status, summary: [part()], ...sealed };
    },
    begin: () => [{ type: "response.reasoning_summary_part.added", ...position, part: part() }],
    write: (delta) => {
      text += delta;
      return [{ type: "response.reasoning_summary_text.delta", ...position, delta }];
    },
    end: () => [
      { type: "response.reasoning_summary_text.done", ...position, text },
      { type: "response.reasoning_summary_part.done", ...position, part: part() },
    ],
  };
}

/** Events show that the summary grows, and not its text. */
export function openCompaction(outputIndex: number, seal: (summary: string) => string): OpenItem {
  const id = createId("cmp");
  let text = "";
  return {
    type: "compaction",
    snapshot: (status) => {
      const sealed = status === "in_progress" ? "" : seal(text);
      return { id, type: "compaction", encrypted_content: sealed };
    },
    begin: () => [],
    write: (delta) => {
      text += delta;
      return [{ type: "response.compaction.compacting", item_id: id, output_index: outputIndex }];
    },
    end: () => [],
  };
}

export function openCall(outputIndex: number, callId: string, { type, name }: CalledTool): OpenItem {
  switch (type) {
    case "function":
      return openFunctionCall(outputIndex, callId, name);
    case "custom":
      return openCustomCall(outputIndex, callId, name);
    case "tool_search":
      return openToolSearch(callId);
  }
}

function openFunctionCall(outputIndex: number, callId: string, name: ToolName): OpenItem {
  const id = createId("fc");
  const position = { item_id: id, output_index: outputIndex };
  let text = "";
  return {
    type: "function_call",
    snapshot: (status) => ({ id, type: "function_call", status, call_id: callId, ...name, arguments: text }),
    begin: () => [],
    write: (delta) => {
      text += delta;
      return [{ type: "response.function_call_arguments.delta", ...position, delta }];
    },
    end: () => [{ type: "response.function_call_arguments.done", ...position, ...name, arguments: text }],
  };
}

/** The model writes the input as an argument in JSON, so it is sent when the call is complete. */
function openCustomCall(outputIndex: number, callId: string, name: ToolName): OpenItem {
  const id = createId("ctc");
  const position = { item_id: id, output_index: outputIndex };
  let text = "";
  const input = (): string => {
    const { input: written, malformed } = parseArguments(text === "" ? "{}" : text);
    const found = written ?? malformed ?? "";
    return typeof found === "string" ? found : JSON.stringify(found);
  };
  return {
    type: "custom_tool_call",
    snapshot: (status) => {
      const shown = status === "in_progress" ? "" : input();
      return { id, type: "custom_tool_call", status, call_id: callId, ...name, input: shown };
    },
    begin: () => [],
    write: (delta) => {
      text += delta;
      return [];
    },
    end: () => [
      { type: "response.custom_tool_call_input.delta", ...position, delta: input() },
      { type: "response.custom_tool_call_input.done", ...position, input: input() },
    ],
  };
}

/** A search that the client runs; such calls have no events of their own. */
function openToolSearch(callId: string): OpenItem {
  const id = createId("tsc");
  let text = "";
  return {
    type: "tool_search_call",
    snapshot: (status) => {
      const written = status === "in_progress" || text === "" ? {} : parseArguments(text);
      return {
        id,
        type: "tool_search_call",
        status,
        call_id: callId,
        execution: "client",
        arguments: written,
      };
    },
    begin: () => [],
    write: (delta) => {
      text += delta;
      return [];
    },
    end: () => [],
  };
}
