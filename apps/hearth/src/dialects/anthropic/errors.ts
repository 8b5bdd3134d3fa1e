import { type CallHead, jsonAnswer, type WholeAnswer } from "@hearth-and-keep/http-service";
import { asRequestFailure } from "../../failures.ts";
import type { Family } from "../family.ts";

export const anthropicFamily: Family = { name: "anthropic", answerFailure };

function answerFailure(problem: unknown, _head: CallHead): WholeAnswer {
  return jsonAnswer({ error: asRequestFailure(problem).kind }, 500);
}
