import type { StreamAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall } from "../../dependencies.ts";
import { wireFailureOf } from "./errors.ts";

/** A stream of values as this family's clients read it, with its end mark; an error takes the mark's place. */
export function serverSentAnswer(
  values: AsyncIterable<unknown>,
  call: Pick<HearthCall, "note" | "requestId">,
): StreamAnswer {
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    pieces: writePieces(values),
    filler: ":\n\n",
    endFailed: (problem) => writePiece({ error: wireFailureOf(problem, call).error }),
  };
}

async function* writePieces(values: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const value of values) yield writePiece(value);
  yield "data: [DONE]\n\n";
}

function writePiece(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
