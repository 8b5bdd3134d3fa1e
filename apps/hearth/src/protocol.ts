import type { CallHead, WholeAnswer } from "@hearth-and-keep/http-service";

/** How a family says that something went wrong before the first byte of an answer. */
export type Family = {
  readonly name: "ollama" | "openai" | "anthropic";
  readonly answerFailure: (problem: unknown, head: CallHead) => WholeAnswer;
};
