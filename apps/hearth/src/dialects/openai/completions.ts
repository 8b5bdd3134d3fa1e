import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import type { AnswerEvent } from "../../generation/answer-request.ts";
import { answerChoices } from "./answer-choices.ts";
import { joinTextPieces, readTextPieces, type TextPiece } from "./completion-text.ts";
import { type AnswerUsage, addUsage, describeAnswer, describeUsage, sumUsage } from "./describe-answer.ts";
import { readCompletionsRequest, readPrompts } from "./read-completions-request.ts";
import { describeFor } from "./require-model.ts";
import type { CompletionsBody } from "./schema.ts";
import { serverSentAnswer } from "./server-sent.ts";

/** One prompt, and the answers to it. */
type AnsweredPrompt = { readonly prompt: string; readonly answers: Iterable<AsyncIterable<AnswerEvent>> };

export async function answerCompletions(
  call: HearthCall<CompletionsBody>,
  parts: HearthParts,
): Promise<Answer> {
  const { body } = call;
  const model = await describeFor(call, parts, "completion");
  const prompts = readPrompts(body).map((prompt): AnsweredPrompt => {
    const request = readCompletionsRequest(call, model, prompt);
    return { prompt, answers: answerChoices(request, body.n ?? 1, { call, parts }) };
  });
  const head = describeAnswer(model, { prefix: "cmpl", object: "text_completion", model: body.model });
  const pieces = readPieces(prompts, call);
  if (body.stream === true) return serverSentAnswer(writeChunks(pieces, head, body), call);
  return jsonAnswer({ ...head, ...(await readChoices(pieces)) });
}

type Piece =
  | { readonly type: "text"; readonly index: number; readonly piece: TextPiece }
  | { readonly type: "usage"; readonly usage: AnswerUsage };

/** The pieces of all choices, one choice after another, and what they took at last. */
async function* readPieces(
  prompts: readonly AnsweredPrompt[],
  { body, note }: HearthCall<CompletionsBody>,
): AsyncGenerator<Piece> {
  let index = 0;
  let total: AnswerUsage | undefined;
  for (const { prompt, answers } of prompts) {
    let usage: AnswerUsage | undefined;
    for (const events of answers) {
      for await (const { end, ...piece } of readTextPieces(events, body.echo === true ? prompt : "")) {
        yield { type: "text", index, piece };
        if (end !== undefined) usage = sumUsage(usage, end.usage);
      }
      index += 1;
    }
    total = addUsage(total, usage);
  }
  if (total === undefined) return;
  const { promptTokens, cachedTokens, outputTokens } = total;
  note({ promptTokens, cachedTokens, outputTokens });
  yield { type: "usage", usage: total };
}

async function readChoices(pieces: AsyncIterable<Piece>) {
  const choices: TextPiece[][] = [];
  let usage: object | undefined;
  for await (const piece of pieces) {
    if (piece.type === "usage") usage = describeUsage(piece.usage);
    else (choices[piece.index] ??= []).push(piece.piece);
  }
  return { choices: choices.map((each, index) => ({ index, ...joinTextPieces(each) })), usage };
}

async function* writeChunks(
  pieces: AsyncIterable<Piece>,
  head: object,
  { stream_options: options }: CompletionsBody,
): AsyncGenerator<object> {
  const tellsUsage = options?.include_usage === true;
  const noUsage = tellsUsage ? { usage: null } : {};
  for await (const piece of pieces) {
    if (piece.type === "text")
      yield { ...head, choices: [{ index: piece.index, ...piece.piece }], ...noUsage };
    else if (tellsUsage) yield { ...head, choices: [], usage: describeUsage(piece.usage) };
  }
}
