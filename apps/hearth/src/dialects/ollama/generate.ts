import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerGenerate(): Answer {
  return jsonAnswer({}, 501);
}
