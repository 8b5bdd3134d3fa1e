/**
 * @module
 * The three protocol families, each in a folder of its own: what its clients send and expect, translated to and from
 * our own words. They are strangers to each other; what all of them need of the server is told here.
 * Imported by `routes.ts` and `server.ts`.
 */
import type { CallHead, WholeAnswer } from "@hearth-and-keep/http-service";

/** How a family says that something went wrong before the first byte of an answer. */
export type Family = {
  readonly name: "ollama" | "openai" | "anthropic";
  readonly answerFailure: (problem: unknown, head: CallHead) => WholeAnswer;
};
