import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerResponses(): Answer {
  return jsonAnswer({}, 501);
}
