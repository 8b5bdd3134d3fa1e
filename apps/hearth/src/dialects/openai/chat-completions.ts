import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import type { AnswerEvent } from "../../generation/answer-request.ts";
import { answerChoices } from "./answer-choices.ts";
import { readChatDeltas } from "./chat-deltas.ts";
import { readChatMessage } from "./chat-message.ts";
import { type AnswerUsage, describeAnswer, describeUsage, sumUsage } from "./describe-answer.ts";
import { readChatRequest } from "./read-chat-request.ts";
import { describeFor } from "./require-model.ts";
import type { ChatCompletionsBody } from "./schema.ts";
import { serverSentAnswer } from "./server-sent.ts";

type Answers = Iterable<AsyncIterable<AnswerEvent>>;

export async function answerChatCompletions(
  call: HearthCall<ChatCompletionsBody>,
  parts: HearthParts,
): Promise<Answer> {
  const { body } = call;
  const model = await describeFor(call, parts, "completion");
  const request = await readChatRequest(call, model, parts);
  const answers = answerChoices(request, body.n ?? 1, { call, parts });
  const isStream = body.stream === true;
  const object = isStream ? "chat.completion.chunk" : "chat.completion";
  const head = describeAnswer(model, { prefix: "chatcmpl", object, model: body.model });
  if (!isStream) return jsonAnswer({ ...head, ...(await readChoices(answers, call)) });
  return serverSentAnswer(writeChunks(answers, head, call), call);
}

async function readChoices(answers: Answers, call: Pick<HearthCall, "note">) {
  const choices: object[] = [];
  let usage: AnswerUsage | undefined;
  for (const events of answers) {
    const { end, ...choice } = await readChatMessage(events);
    usage = sumUsage(usage, end.usage);
    choices.push({ index: choices.length, ...choice });
  }
  if (usage === undefined) return { choices };
  call.note({ outputTokens: usage.outputTokens });
  return { choices, usage: describeUsage(usage) };
}

/** Everything a stream holds but its end mark; the usage comes last, in a chunk without choices, when it was asked for. */
async function* writeChunks(
  answers: Answers,
  head: object,
  { body, note }: HearthCall<ChatCompletionsBody>,
): AsyncGenerator<object> {
  const tellsUsage = body.stream_options?.include_usage === true;
  const noUsage = tellsUsage ? { usage: null } : {};
  let usage: AnswerUsage | undefined;
  let index = 0;
  for (const events of answers) {
    for await (const { end, ...choice } of readChatDeltas(events)) {
      yield { ...head, choices: [{ index, ...choice }], ...noUsage };
      if (end !== undefined) usage = sumUsage(usage, end.usage);
    }
    index += 1;
  }
  if (usage === undefined) return;
  note({ outputTokens: usage.outputTokens });
  if (tellsUsage) yield { ...head, choices: [], usage: describeUsage(usage) };
}
