import { jsonAnswer, NoSuchRoute, type WholeAnswer } from "@hearth-and-keep/http-service";

/** The family's error body is always one string under `error`; the cause stays in our log. */
export function answerOllamaFailure(problem: unknown): WholeAnswer {
  if (problem instanceof NoSuchRoute) return jsonAnswer({ error: "404 page not found" }, 404);
  return jsonAnswer({ error: "Cannot finish this request because of a fault in the server" }, 500);
}
