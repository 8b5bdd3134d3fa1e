import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerCountTokens(): Answer {
  return jsonAnswer({}, 501);
}
