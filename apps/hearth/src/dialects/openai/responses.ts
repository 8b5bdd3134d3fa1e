export { answerResponses } from "./responses/answer-responses.ts";
