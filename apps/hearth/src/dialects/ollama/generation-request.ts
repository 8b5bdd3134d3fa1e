import type { HearthCall } from "../../dependencies.ts";
import type { AnswerRequest } from "../../generation/answer-request.ts";
import { readFormat } from "./reading/format.ts";
import { readKeepAlive } from "./reading/keep-alive.ts";
import { readOptions } from "./reading/options.ts";
import type { AskedModel } from "./resolve-model.ts";
import type { ChatBody, GenerateBody } from "./schema.ts";

/** What generate and chat ask for in the same words. */
export function readGeneration(
  { body, caller }: HearthCall<GenerateBody | ChatBody>,
  { model }: AskedModel,
  input: AnswerRequest["input"],
): AnswerRequest {
  const { sampling, contextTokens } = readOptions(body.options);
  const keepAlive = readKeepAlive(body.keep_alive);
  const constraint = readFormat(body.format);
  return {
    model,
    input,
    sampling,
    // This family has no word for it.
    toolChoice: { type: "auto" },
    cachePartition: caller.cachePartition,
    overflow: body.truncate === false ? "refuse" : "drop-oldest",
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(keepAlive === undefined ? {} : { keepAlive }),
    ...(constraint === undefined ? {} : { constraint }),
    ...(body.logprobs === true ? { logProbabilities: body.top_logprobs ?? 0 } : {}),
  };
}
