import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerMessages(): Answer {
  return jsonAnswer({}, 501);
}
