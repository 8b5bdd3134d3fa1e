import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerCompletions(): Answer {
  return jsonAnswer({}, 501);
}
