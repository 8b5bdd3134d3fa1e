/**
 * @module
 * OpenAI's Responses interface: a request of items in, a response of items out, whole or as numbered events.
 * Promises exact places in every event and exactly one terminal event, also when the engine fails midway.
 * Imported by `dialects/openai/responses.ts`, and by `dialects/openai/schema.ts` for its schema.
 */
import { randomBytes } from "node:crypto";
import type { ToolName } from "./tool-names.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

export type OutputItem = {
  readonly id: string;
  readonly status: ItemStatus;
} & (
  | { readonly type: "message"; readonly role: "assistant"; readonly content: readonly OutputText[] }
  | { readonly type: "reasoning"; readonly summary: readonly SummaryText[] }
  | (ToolName & { readonly type: "function_call"; readonly call_id: string; readonly arguments: string })
);

type OutputText = {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations: readonly never[];
  readonly logprobs: readonly never[];
};
type SummaryText = { readonly type: "summary_text"; readonly text: string };

/** An event before it has its number. */
export type UnnumberedEvent = { readonly type: string; readonly [field: string]: unknown };

/** One item that is being written. Its events come in the order in which its functions are called. */
export type OpenItem = {
  readonly type: OutputItem["type"];
  /** As it is now. */
  readonly snapshot: (status: ItemStatus) => OutputItem;
  readonly begin: () => readonly UnnumberedEvent[];
  readonly write: (text: string) => readonly UnnumberedEvent[];
  /** All but the last event of an item, which is the same for every type. */
  readonly end: () => readonly UnnumberedEvent[];
};

export function createId(prefix: "resp" | "msg" | "rs" | "fc"): string {
  return `${prefix}_${randomBytes(24).toString("hex")}`;
}

export function openMessage(outputIndex: number): OpenItem {
  const id = createId("msg");
  const place = { item_id: id, output_index: outputIndex, content_index: 0 };
  let text = "";
  const part = (): OutputText => ({ type: "output_text", annotations: [], logprobs: [], text });
  return {
    type: "message",
    snapshot: (status) => {
      const content = status === "in_progress" ? [] : [part()];
      return { id, type: "message", status, role: "assistant", content };
    },
    begin: () => [{ type: "response.content_part.added", ...place, part: part() }],
    write: (delta) => {
      text += delta;
      return [{ type: "response.output_text.delta", ...place, delta, logprobs: [] }];
    },
    end: () => [
      { type: "response.output_text.done", ...place, text, logprobs: [] },
      { type: "response.content_part.done", ...place, part: part() },
    ],
  };
}

/** Thoughts are given whole, in the one place where clients look for them. */
export function openReasoning(outputIndex: number): OpenItem {
  const id = createId("rs");
  const place = { item_id: id, output_index: outputIndex, summary_index: 0 };
  let text = "";
  const part = (): SummaryText => ({ type: "summary_text", text });
  return {
    type: "reasoning",
    snapshot: (status) => {
      return { id, type: "reasoning", status, summary: status === "in_progress" ? [] : [part()] };
    },
    begin: () => [{ type: "response.reasoning_summary_part.added", ...place, part: part() }],
    write: (delta) => {
      text += delta;
      return [{ type: "response.reasoning_summary_text.delta", ...place, delta }];
    },
    end: () => [
      { type: "response.reasoning_summary_text.done", ...place, text },
      { type: "response.reasoning_summary_part.done", ...place, part: part() },
    ],
  };
}

export function openFunctionCall(outputIndex: number, callId: string, name: ToolName): OpenItem {
  const id = createId("fc");
  const place = { item_id: id, output_index: outputIndex };
  let text = "";
  return {
    type: "function_call",
    snapshot: (status) => ({ id, type: "function_call", status, call_id: callId, ...name, arguments: text }),
    begin: () => [],
    write: (delta) => {
      text += delta;
      return [{ type: "response.function_call_arguments.delta", ...place, delta }];
    },
    end: () => [{ type: "response.function_call_arguments.done", ...place, ...name, arguments: text }],
  };
}
