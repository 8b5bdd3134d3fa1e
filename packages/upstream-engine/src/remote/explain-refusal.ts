import type { EngineFailure } from "@hearth-and-keep/llama-engine";
import { countOf, fieldsOf, textOf } from "../wire/json-fields.ts";
import { WireProblem } from "../wire/wire-problem.ts";

/**
 * What an engine that did not answer means for the request and for the engine.
 * `elsewhere`: another engine may answer it. `caller`: no engine would, as the failure says.
 */
export type Refusal =
  | {
      readonly type: "elsewhere";
      /** `busy`: it has too much to do. `failed`: it broke. `gone`: nobody answers there. */
      readonly standing: "busy" | "failed" | "gone";
    }
  | { readonly type: "caller"; readonly failure: EngineFailure };

/** Of whatever was thrown while an engine was asked; undefined when it is none of the engine's doing. */
export function explainRefusal(problem: unknown): Refusal | undefined {
  if (!(problem instanceof WireProblem)) return undefined;
  const { detail } = problem;
  if (detail.kind === "unreachable" || detail.kind === "closed-before") {
    return { type: "elsewhere", standing: "gone" };
  }
  if (detail.kind !== "refused") return { type: "elsewhere", standing: "failed" };
  const { status, value } = detail;
  if (status === 429 || status === 503) return { type: "elsewhere", standing: "busy" };
  const length = readLengths(value);
  if (length !== undefined) return { type: "caller", failure: { kind: "prompt-too-long", ...length } };
  // Wrong credentials and an unknown model are this engine's settings, not the caller's fault.
  const isOfCaller = [400, 413, 422, 501].includes(status);
  if (!isOfCaller) return { type: "elsewhere", standing: "failed" };
  return { type: "caller", failure: { kind: "not-supported", feature: "a request of this kind" } };
}

type Lengths = { readonly promptTokens: number; readonly contextTokens: number };

/** How each engine says that a prompt is too long; the only words of an engine that are read. */
const sentences: readonly RegExp[] = [
  /request \((?<prompt>\d+) tokens\) exceeds the available context size \((?<context>\d+) tokens\)/u,
  /maximum context length is (?<context>\d+) tokens.*?\((?<prompt>\d+) (?:in|of|from) the/su,
  /maximum context length is (?<context>\d+) tokens.*?(?:contains|has|resulted in)(?: at least)? (?<prompt>\d+)/su,
  /maximum context length of (?<context>\d+) tokens.*?(?<prompt>\d+) tokens from the input/su,
  /input \((?<prompt>\d+) tokens\) is longer than the model's context length \((?<context>\d+) tokens\)/su,
];
const mostCharacters = 4096;

/** Both counts, also when the prompt alone would fit and only the answer asked for does not. */
export function readLengths(value: unknown): Lengths | undefined {
  const body = fieldsOf(value);
  const error = Object.hasOwn(body, "error") ? fieldsOf(body["error"]) : body;
  const promptTokens = countOf(error["n_prompt_tokens"]);
  const contextTokens = countOf(error["n_ctx"]);
  if (promptTokens !== undefined && contextTokens !== undefined) return { promptTokens, contextTokens };
  const sentence = textOf(error["message"]).slice(0, mostCharacters);
  for (const pattern of sentences) {
    const { prompt, context } = pattern.exec(sentence)?.groups ?? {};
    if (prompt !== undefined) return { promptTokens: Number(prompt), contextTokens: Number(context) };
  }
  return undefined;
}
