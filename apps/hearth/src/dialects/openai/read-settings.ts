import type { Actor } from "../../access/authenticate.ts";
import { invalidField } from "../../failures.ts";
import type { GenerationRequest } from "../../generation/request.ts";
import type { SamplingOptions } from "../../generation/sampling.ts";
import { readKeepAlive } from "./read-keep-alive.ts";
import type { WireSettings } from "./schema.ts";

/** Sampling options by their OpenAI names. */
const numbers = {
  temperature: "temperature",
  top_p: "topP",
  top_k: "topK",
  min_p: "minP",
  typical_p: "typicalP",
  repeat_penalty: "repeatPenalty",
  repeat_last_n: "repeatLastTokens",
  frequency_penalty: "frequencyPenalty",
  presence_penalty: "presencePenalty",
  seed: "seed",
} as const satisfies Readonly<Record<string, keyof SamplingOptions>>;

type LimitedSettings = WireSettings & { readonly max_completion_tokens?: number | null };

/** Top-level settings take precedence over those in `options`. Absent ones stay absent. */
export function readSettings(
  body: LimitedSettings,
  actor: Actor,
): Pick<GenerationRequest, "sampling" | "contextTokens" | "keepAlive"> {
  const options = body.options ?? {};
  const maxTokens = readMaxTokens(body);
  const stop = body.stop ?? options.stop;
  // Some UIs send empty strings for blank input fields.
  const stops = (typeof stop === "string" ? [stop] : (stop ?? [])).filter((each) => each !== "");
  const contextTokens = options.num_ctx ?? undefined;
  return {
    sampling: {
      ...readNumbers(body),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(stops.length === 0 ? {} : { stops }),
      ...readBias(body.logit_bias ?? {}),
    },
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...readKeepAlive(body.keep_alive, actor),
  };
}

/** A negative number generates until the context is full. Zero is rejected as a mistake. */
function readMaxTokens(body: LimitedSettings): number | undefined {
  const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? body.options?.num_predict ?? undefined;
  if (maxTokens !== 0) return maxTokens;
  const field = "max_completion_tokens" in body ? "max_completion_tokens" : "max_tokens";
  throw invalidField(field, "must be at least 1");
}

function readNumbers(body: WireSettings): SamplingOptions {
  // Object.entries loses the key type of the table above.
  const names = Object.entries(numbers) as [keyof typeof numbers, keyof SamplingOptions][];
  return Object.fromEntries(
    names.flatMap(([wireName, option]) => {
      const value = body[wireName] ?? body.options?.[wireName];
      return typeof value === "number" ? [[option, value]] : [];
    }),
  );
}

function readBias(bias: Readonly<Record<string, number>>): Pick<SamplingOptions, "logitBias"> {
  const entries = Object.entries(bias);
  const invalid = entries.find(([token]) => !/^\d{1,9}$/u.test(token));
  if (invalid !== undefined) {
    throw invalidField("logit_bias", `contains "${invalid[0]}", which is not a token id`);
  }
  if (entries.length === 0) return {};
  return { logitBias: new Map(entries.map(([token, value]) => [Number(token), value])) };
}
