import { type CallHead, jsonAnswer, type WholeAnswer } from "@hearth-and-keep/http-service";
import { asRequestFailure } from "../../failures.ts";
import type { Family } from "../family.ts";

export const ollamaFamily: Family = { name: "ollama", answerFailure };

/** The family's error body is always one string under `error`; the cause stays in our log. */
function answerFailure(problem: unknown, _head: CallHead): WholeAnswer {
  const failure = asRequestFailure(problem);
  if (failure.kind === "no-such-route") return jsonAnswer({ error: "404 page not found" }, 404);
  return jsonAnswer({ error: "Cannot finish this request because of a fault in the server" }, 500);
}
