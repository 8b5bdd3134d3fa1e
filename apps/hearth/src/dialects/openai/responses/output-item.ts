/**
 * @module
 * `POST /v1/responses`: input items in, output items out, complete or as numbered events. Every event carries the exact
 * position of its item, and every stream has exactly one terminal event, even if the engine fails midway.
 * Imported by `routes.ts`; `response-store.ts` also by `dependencies.ts` and `commands/serve.ts`.
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

/** An event without its sequence number. */
export type UnnumberedEvent = { readonly type: string; readonly [field: string]: unknown };

/** An item that is still being generated. Call its functions in order: begin, write, end. */
export type OpenItem = {
  readonly type: OutputItem["type"];
  /** The item as of now. */
  readonly snapshot: (status: ItemStatus) => OutputItem;
  readonly begin: () => readonly UnnumberedEvent[];
  readonly write: (text: string) => readonly UnnumberedEvent[];
  /** All final events but `output_item.done`, which is the same for every type. */
  readonly end: () => readonly UnnumberedEvent[];
};

export function createId(prefix: "resp" | "msg" | "rs" | "fc"): string {
  return `${prefix}_${randomBytes(24).toString("hex")}`;
}

export function openMessage(outputIndex: number): OpenItem {
  const id = createId("msg");
  const position = { item_id: id, output_index: outputIndex, content_index: 0 };
  let text = "";
  const part = (): OutputText => ({ type: "output_text", annotations: [], logprobs: [], text });
  return {
    type: "message",
    snapshot: (status) => {
      const content = status === "in_progress" ? [] : [part()];
      return { id, type: "message", status, role: "assistant", content };
    },
    begin: () => [{ type: "response.content_part.added", ...position, part: part() }],
    write: (delta) => {
      text += delta;
      return [{ type: "response.output_text.delta", ...position, delta, logprobs: [] }];
    },
    end: () => [
      { type: "response.output_text.done", ...position, text, logprobs: [] },
      { type: "response.content_part.done", ...position, part: part() },
    ],
  };
}

/** The complete reasoning is sent as the summary, which is the only part that clients show. */
export function openReasoning(outputIndex: number): OpenItem {
  const id = createId("rs");
  const position = { item_id: id, output_index: outputIndex, summary_index: 0 };
  let text = "";
  const part = (): SummaryText => ({ type: "summary_text", text });
  return {
    type: "reasoning",
    snapshot: (status) => {
      return { id, type: "reasoning", status, summary: status === "in_progress" ? [] : [part()] };
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

export function openFunctionCall(outputIndex: number, callId: string, name: ToolName): OpenItem {
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
