import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerModelsOfMessages(): Answer {
  return jsonAnswer({}, 501);
}

export function answerModelOfMessages(): Answer {
  return jsonAnswer({}, 501);
}
