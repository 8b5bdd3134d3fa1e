import type { GenerationEvent } from "../../../generation/events.ts";
import type { OutputItem } from "./output-item.ts";
import type { OfferedTool, ResponsesRequest } from "./schema.ts";

/** The parts of a response that do not change while it is generated. */
export type ResponseFrame = {
  readonly id: string;
  readonly createdAt: Date;
  readonly request: ResponsesRequest;
  /** The value in effect, from the request, the model or the server. */
  readonly temperature: number;
  readonly topP: number;
  readonly isStored: boolean;
};

export type ResponseUsage = Extract<GenerationEvent, { type: "generation-end" }>["usage"];

type ResponseError = { readonly code: string; readonly message: string };

export type ResponseState =
  | { readonly status: "in_progress" }
  | { readonly status: "completed"; readonly usage: ResponseUsage }
  /** The token limit or the context was exhausted. */
  | { readonly status: "incomplete"; readonly usage: ResponseUsage }
  | { readonly status: "failed"; readonly error: ResponseError };

export type ResponseObject = ReturnType<typeof writeResponse>;

/** A response with every field that official clients require. */
export function writeResponse(frame: ResponseFrame, state: ResponseState, output: readonly OutputItem[]) {
  const { request } = frame;
  return {
    id: frame.id,
    object: "response",
    created_at: toSeconds(frame.createdAt),
    completed_at: state.status === "completed" ? toSeconds(new Date()) : null,
    status: state.status,
    background: false,
    error: state.status === "failed" ? state.error : null,
    incomplete_details: state.status === "incomplete" ? { reason: "max_output_tokens" } : null,
    output,
    usage: "usage" in state ? writeUsage(state.usage) : null,
    temperature: frame.temperature,
    top_p: frame.topP,
    ...echo(request),
    store: frame.isStored,
    access_programs: null,
    max_tool_calls: null,
    service_tier: "default",
    top_logprobs: request.top_logprobs ?? 0,
  } as const;
}

function echo(request: ResponsesRequest) {
  return {
    model: request.model,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    previous_response_id: request.previous_response_id ?? null,
    conversation: writeConversation(request),
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    tool_choice: request.tool_choice ?? "auto",
    tools: (request.tools ?? []).map(writeTool),
    text: { format: request.text?.format ?? { type: "text" }, verbosity: "medium" },
    reasoning: {
      effort: request.reasoning?.effort ?? null,
      summary: request.reasoning?.summary ?? null,
    },
    truncation: request.truncation ?? "disabled",
    metadata: request.metadata ?? {},
    user: request.user ?? null,
  };
}

function writeConversation({ conversation }: ResponsesRequest): { readonly id: string } | null {
  if (typeof conversation === "string") return { id: conversation };
  return conversation === null || conversation === undefined ? null : { id: conversation.id };
}

function writeTool(tool: OfferedTool): OfferedTool {
  if (tool.type !== "function") return tool;
  return { ...tool, parameters: tool.parameters ?? null, strict: tool.strict ?? null };
}

function writeUsage({ promptTokens, cachedTokens, outputTokens, reasoningTokens }: ResponseUsage) {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + outputTokens,
  };
}

function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
