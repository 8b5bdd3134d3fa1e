import type { TokenProbability } from "@hearth-and-keep/engine";
import type { HearthRequest } from "../../../dependencies.ts";
import type { GenerationEvent } from "../../../generation/events.ts";
import type { Choices } from "../generate-choices.ts";
import {
  addChoiceUsage,
  finishReasonOf,
  type GenerationEnd,
  type TokenUsage,
  writeUsage,
} from "../response-fields.ts";
import { writeLogprobs } from "./stream-events.ts";

/** The choices and usage of a complete response. */
export async function writeResponse(choices: Choices, { addLogFields }: Pick<HearthRequest, "addLogFields">) {
  const written: object[] = [];
  let usage: TokenUsage | undefined;
  for (const events of choices) {
    const { end, ...choice } = await writeChoice(events);
    usage = addChoiceUsage(usage, end.usage);
    written.push({ index: written.length, ...choice });
  }
  if (usage === undefined) return { choices: written };
  addLogFields({ outputTokens: usage.outputTokens });
  return { choices: written, usage: writeUsage(usage) };
}

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

async function writeChoice(events: AsyncIterable<GenerationEvent>) {
  const draft: Draft = { text: "", reasoning: "", calls: new Map(), tokens: undefined };
  let end: GenerationEnd | undefined;
  for await (const event of events) {
    if (event.type === "generation-end") end = event;
    else addEvent(draft, event);
  }
  if (end === undefined) throw new Error("The generation ended without a generation-end event");
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
    logprobs: writeLogprobs(tokens),
    finish_reason: finishReasonOf(end),
    end,
  };
}

function addEvent(draft: Draft, event: GenerationEvent): void {
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
      // A call may end without any deltas; clients still parse its arguments, so they must be JSON.
      if (draft.calls.get(event.index)?.function.arguments === "") {
        addArguments(draft, event.index, JSON.stringify(event.arguments));
      }
      break;
    case "tool-call-fail":
      // An incomplete call cannot be run; the finish reason reports it.
      draft.calls.delete(event.index);
      break;
    case "generation-start":
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
