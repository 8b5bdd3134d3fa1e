import type { BufferedResponse, RequestHead } from "@hearth-and-keep/http-service";

/** One of the APIs that Hearth serves, with its format for errors that occur before a response starts. */
export type Protocol = {
  readonly name: "ollama" | "openai" | "anthropic";
  readonly errorResponse: (error: unknown, head: RequestHead) => BufferedResponse;
};
