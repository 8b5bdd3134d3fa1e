import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerChat(): Answer {
  return jsonAnswer({}, 501);
}
