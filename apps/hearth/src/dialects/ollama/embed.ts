import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerEmbed(): Answer {
  return jsonAnswer({}, 501);
}

export function answerEmbeddings(): Answer {
  return jsonAnswer({}, 501);
}
