import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerModels(): Answer {
  return jsonAnswer({}, 501);
}

export function answerModel(): Answer {
  return jsonAnswer({}, 501);
}
