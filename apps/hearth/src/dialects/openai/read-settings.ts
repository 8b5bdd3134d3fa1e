import { requestFailure } from "../../failures.ts";
import type { AnswerRequest } from "../../generation/answer-request.ts";
import type { SamplingWishes } from "../../generation/sampling.ts";
import { readKeepAlive } from "./read-keep-alive.ts";
import type { WireSettings } from "./schema.ts";

/** Numbers by this family's names, and ours. */
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
} as const satisfies Readonly<Record<string, keyof SamplingWishes>>;

type LimitedSettings = WireSettings & { readonly max_completion_tokens?: number | null };

/** Settings of a body: those at its top count before those in its `options`. Absent ones stay absent. */
export function readSettings(
  body: LimitedSettings,
): Pick<AnswerRequest, "sampling" | "contextTokens" | "keepAlive"> {
  const options = body.options ?? {};
  const mostTokens = readMostTokens(body);
  const stop = body.stop ?? options.stop;
  // Empty texts come from forms that were left blank.
  const stops = (typeof stop === "string" ? [stop] : (stop ?? [])).filter((each) => each !== "");
  const contextTokens = options.num_ctx ?? undefined;
  return {
    sampling: {
      ...readNumbers(body),
      ...(mostTokens === undefined ? {} : { mostTokens }),
      ...(stops.length === 0 ? {} : { stops }),
      ...readBias(body.logit_bias ?? {}),
    },
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...readKeepAlive(body.keep_alive),
  };
}

/** Below zero writes until the context is full; nothing at all is not what anybody means. */
function readMostTokens(body: LimitedSettings): number | undefined {
  const mostTokens = body.max_completion_tokens ?? body.max_tokens ?? body.options?.num_predict ?? undefined;
  if (mostTokens !== 0) return mostTokens;
  const place = "max_completion_tokens" in body ? "max_completion_tokens" : "max_tokens";
  throw requestFailure({ kind: "request-invalid", place, reason: "must be at least 1" });
}

function readNumbers(body: WireSettings): SamplingWishes {
  // Object.entries forgets the names of the table above.
  const names = Object.entries(numbers) as [keyof typeof numbers, keyof SamplingWishes][];
  return Object.fromEntries(
    names.flatMap(([theirs, ours]) => {
      const value = body[theirs] ?? body.options?.[theirs];
      return typeof value === "number" ? [[ours, value]] : [];
    }),
  );
}

function readBias(bias: Readonly<Record<string, number>>): Pick<SamplingWishes, "logitBias"> {
  const entries = Object.entries(bias);
  const stranger = entries.find(([token]) => !/^\d{1,9}$/u.test(token));
  if (stranger !== undefined) {
    const reason = `has "${stranger[0]}" where it needs the number of a token`;
    throw requestFailure({ kind: "request-invalid", place: "logit_bias", reason });
  }
  if (entries.length === 0) return {};
  return { logitBias: new Map(entries.map(([token, value]) => [Number(token), value])) };
}
