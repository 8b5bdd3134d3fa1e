import type { HearthRequest } from "../../../dependencies.ts";
import { invalidField } from "../../../failures.ts";
import type { GenerationRequest } from "../../../generation/request.ts";
import type { ModelDescription } from "../../../models/metadata/describe-model.ts";
import { readSettings } from "../read-settings.ts";
import { requireCapability } from "../resolve-model.ts";
import type { CompletionsBody } from "../schema.ts";

/** Translates one prompt of a completion. It reaches the model without a chat template. */
export function readRequest(
  { body, actor }: HearthRequest<CompletionsBody>,
  model: ModelDescription,
  prompt: string,
): GenerationRequest {
  rejectUnsupported(body);
  const suffix = body.suffix ?? "";
  if (suffix !== "") requireCapability(model, body.model, "insert");
  return {
    model,
    input: suffix === "" ? { type: "raw", prompt } : { type: "fill-in-the-middle", prefix: prompt, suffix },
    toolChoice: { type: "none" },
    ...readSettings(body, actor),
    ...(typeof body.logprobs === "number" ? { logProbabilities: body.logprobs } : {}),
    cachePartition: actor.cachePartition,
    overflow: "reject",
  };
}

function rejectUnsupported({ best_of: bestOf, n, echo, logprobs }: CompletionsBody): void {
  if (typeof bestOf === "number" && bestOf !== 1 && bestOf !== (n ?? 1)) {
    throw invalidField("best_of", 'must be 1 or equal to "n"; choices are not ranked');
  }
  if (echo === true && typeof logprobs === "number") {
    throw invalidField("echo", 'cannot be combined with "logprobs"; prompt probabilities are not available');
  }
}

export function readPrompts({ prompt, suffix }: CompletionsBody): readonly string[] {
  const prompts =
    prompt === undefined || prompt === null || typeof prompt === "string" ? [prompt ?? ""] : prompt;
  return prompts.map((each) => {
    if (each === "" && (suffix ?? "") === "") throw invalidField("prompt", "must not be empty");
    if (typeof each === "string") return each;
    throw invalidField("prompt", "must be text; token ids are not supported");
  });
}
