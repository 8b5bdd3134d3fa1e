import type { TokenProbability } from "@hearth-and-keep/engine";
import type { AnswerEvent } from "../../generation/answer-request.ts";
import { describeLogprobs } from "./chat-deltas.ts";
import { finishReasonOf, type GenerationEnd } from "./describe-answer.ts";

type Draft = {
  text: string;
  reasoning: string;
  readonly calls: Map<number, WireCall>;
  tokens: TokenProbability[] | undefined;
};

type WireCall = {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
};

/** One choice as a whole. */
export async function readChatMessage(events: AsyncIterable<AnswerEvent>) {
  const draft: Draft = { text: "", reasoning: "", calls: new Map(), tokens: undefined };
  let end: GenerationEnd | undefined;
  for await (const event of events) {
    if (event.type === "generation-end") end = event;
    else addEvent(draft, event);
  }
  if (end === undefined) throw new Error("An answer ended without its last event");
  const { text, reasoning, tokens } = draft;
  const calls = [...draft.calls.values()];
  return {
    message: {
      role: "assistant",
      content: text === "" && calls.length > 0 ? null : text,
      refusal: null,
      ...(reasoning === "" ? {} : { reasoning, reasoning_content: reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    logprobs: describeLogprobs(tokens),
    finish_reason: finishReasonOf(end),
    end,
  };
}

function addEvent(draft: Draft, event: AnswerEvent): void {
  switch (event.type) {
    case "text-delta":
      draft.text += event.text;
      if (event.tokens !== undefined) (draft.tokens ??= []).push(...event.tokens);
      break;
    case "reasoning-delta":
      draft.reasoning += event.text;
      break;
    case "tool-call-start":
      draft.calls.set(event.index, toWireCall(event.id, event.name, ""));
      break;
    case "tool-call-delta":
      addArguments(draft, event.index, event.argumentsText);
      break;
    case "tool-call-end":
      // A call without arguments may come without deltas; clients parse what they are given.
      if (draft.calls.get(event.index)?.function.arguments === "") {
        addArguments(draft, event.index, JSON.stringify(event.arguments));
      }
      break;
    case "tool-call-fail":
      // Nobody can run what is no whole call, so it is told as what the model wrote.
      draft.calls.delete(event.index);
      draft.text += event.text;
      break;
    case "answer-start":
    case "prompt-progress":
    case "generation-end":
      break;
  }
}

function addArguments({ calls }: Draft, index: number, written: string): void {
  const call = calls.get(index);
  if (call === undefined) return;
  const { name, arguments: before } = call.function;
  calls.set(index, toWireCall(call.id, name, before + written));
}

function toWireCall(id: string, name: string, written: string): WireCall {
  return { id, type: "function", function: { name, arguments: written } };
}
