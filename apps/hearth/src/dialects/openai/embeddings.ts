import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerCreateEmbeddings(): Answer {
  return jsonAnswer({}, 501);
}
