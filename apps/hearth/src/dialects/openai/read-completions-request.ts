import type { HearthCall } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import type { AnswerRequest } from "../../generation/answer-request.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";
import { readSettings } from "./read-settings.ts";
import { requireCapability } from "./require-model.ts";
import type { CompletionsBody } from "./schema.ts";

/** What one prompt of a plain completion asks for, in our words: the prompt goes to the model as it is. */
export function readCompletionsRequest(
  { body, caller }: HearthCall<CompletionsBody>,
  model: ModelDescription,
  prompt: string,
): AnswerRequest {
  refuseUnsupported(body);
  const suffix = body.suffix ?? "";
  if (suffix !== "") requireCapability(model, body.model, "insert");
  return {
    model,
    input: suffix === "" ? { type: "raw", prompt } : { type: "fill-in-the-middle", prefix: prompt, suffix },
    toolChoice: { type: "none" },
    ...readSettings(body),
    ...(typeof body.logprobs === "number" ? { logProbabilities: body.logprobs } : {}),
    cachePartition: caller.cachePartition,
    overflow: "refuse",
  };
}

function refuseUnsupported({ best_of: bestOf, n, echo, logprobs }: CompletionsBody): void {
  if (typeof bestOf === "number" && bestOf !== 1 && bestOf !== (n ?? 1)) {
    throw invalid("best_of", 'must be 1 or the same as "n": answers are not compared here');
  }
  if (echo === true && typeof logprobs === "number") {
    throw invalid("echo", 'cannot be had with "logprobs": the prompt\'s own probabilities are not known');
  }
}

export function readPrompts({ prompt, suffix }: CompletionsBody): readonly string[] {
  const prompts =
    prompt === undefined || prompt === null || typeof prompt === "string" ? [prompt ?? ""] : prompt;
  return prompts.map((each) => {
    if (each === "" && (suffix ?? "") === "") throw invalid("prompt", "holds no text");
    if (typeof each === "string") return each;
    throw invalid("prompt", "holds token ids of another model's vocabulary; send text");
  });
}

function invalid(place: string, reason: string) {
  return requestFailure({ kind: "request-invalid", place, reason });
}
