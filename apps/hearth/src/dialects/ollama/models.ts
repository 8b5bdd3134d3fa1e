import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";

export function answerTags(): Answer {
  return jsonAnswer({}, 501);
}

export function answerPs(): Answer {
  return jsonAnswer({}, 501);
}

export function answerShow(): Answer {
  return jsonAnswer({}, 501);
}

export function answerDelete(): Answer {
  return jsonAnswer({}, 501);
}

export function answerCopy(): Answer {
  return jsonAnswer({}, 501);
}
