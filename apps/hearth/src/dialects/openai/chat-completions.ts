import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerChatCompletions(): Answer {
  return jsonAnswer({}, 501);
}
