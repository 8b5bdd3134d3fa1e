import type { JsonObject, TokenProbability } from "@hearth-and-keep/engine";
import type { AnswerEvent } from "../../generation/answer-request.ts";

/** A stretch of an answer, as both endpoints of this family tell it. */
export type AnswerPart = {
  readonly text: string;
  readonly thinking: string;
  readonly toolCalls: readonly WrittenToolCall[];
  readonly tokens: readonly TokenProbability[];
};

export type WrittenToolCall = {
  readonly id: string;
  readonly function: { readonly index: number; readonly name: string; readonly arguments: JsonObject };
};

export const emptyPart: AnswerPart = { text: "", thinking: "", toolCalls: [], tokens: [] };

/** Reads one answer: each event as the part it adds, undefined when it adds nothing to be seen. */
export class PartReader {
  readonly #openCalls = new Map<number, { readonly id: string; readonly name: string }>();
  readonly #parts: AnswerPart[] = [];

  read(event: AnswerEvent): AnswerPart | undefined {
    const part = this.#partOf(event);
    if (part !== undefined) this.#parts.push(part);
    return part;
  }

  /** Everything so far as one part. */
  whole(): AnswerPart {
    return {
      text: this.#parts.map(({ text }) => text).join(""),
      thinking: this.#parts.map(({ thinking }) => thinking).join(""),
      toolCalls: this.#parts.flatMap(({ toolCalls }) => toolCalls),
      tokens: this.#parts.flatMap(({ tokens }) => tokens),
    };
  }

  #partOf(event: AnswerEvent): AnswerPart | undefined {
    switch (event.type) {
      case "text-delta":
        return { ...emptyPart, text: event.text, tokens: event.tokens ?? [] };
      case "reasoning-delta":
        return { ...emptyPart, thinking: event.text };
      case "tool-call-start":
        this.#openCalls.set(event.index, event);
        return undefined;
      case "tool-call-end":
        return { ...emptyPart, toolCalls: [this.#endCall(event)] };
      case "tool-call-fail":
        // What turned out to be no call is text; half of one says nothing, and the answer ends with `length`.
        return event.reason === "malformed" ? { ...emptyPart, text: event.text } : undefined;
      case "answer-start":
      case "prompt-progress":
      case "tool-call-delta":
      case "generation-end":
        return undefined;
    }
  }

  /** Calls are told whole in this family. */
  #endCall({ index, arguments: given }: { index: number; arguments: JsonObject }): WrittenToolCall {
    const { id = "", name = "" } = this.#openCalls.get(index) ?? {};
    return { id, function: { index, name, arguments: given } };
  }
}

/** JSON has no infinity, and a token that a grammar forbids has no chance at all. */
const leastLogProbability = -9999;

export function writeProbabilities(tokens: readonly TokenProbability[], alternatives: number): unknown[] {
  return tokens.map((token) => ({
    ...writeProbability(token),
    ...(alternatives === 0 ? {} : { top_logprobs: token.alternatives.map(writeProbability) }),
  }));
}

function writeProbability({ text, logProbability }: Pick<TokenProbability, "text" | "logProbability">) {
  return {
    token: text,
    logprob: Math.max(logProbability, leastLogProbability),
    bytes: [...Buffer.from(text)],
  };
}
