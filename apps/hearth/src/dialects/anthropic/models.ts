import { type Answer, jsonAnswer, type WholeAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import type { ModelSummary } from "../../models/metadata/describe-model.ts";
import { requestIdHeader } from "./errors.ts";

const usualLimit = 20;
const mostModels = 1000;

export async function answerModelsOfMessages(call: HearthCall, { models }: HearthParts): Promise<Answer> {
  const listing = await models.list();
  const page = takePage(listing.models.map(describe), call.query);
  return answer({ ...page, first_id: page.data[0]?.id ?? null, last_id: page.data.at(-1)?.id ?? null }, call);
}

export async function answerModelOfMessages(call: HearthCall, { models }: HearthParts): Promise<Answer> {
  return answer(describe(await models.describe(call.parameters["*"] ?? "")), call);
}

type WireModel = ReturnType<typeof describe>;

function describe({ name, modifiedAt, trainedContextTokens }: ModelSummary) {
  return {
    type: "model",
    id: name,
    display_name: name,
    created_at: modifiedAt,
    max_input_tokens: trainedContextTokens,
    max_tokens: trainedContextTokens,
    capabilities: null,
    lifecycle: "active",
    line: null,
    deprecated_at: null,
    retires_at: null,
  } as const;
}

type Page = { readonly data: readonly WireModel[]; readonly has_more: boolean };

/** Forwards from behind one id, or backwards up to another; an id that is gone leaves nothing. */
function takePage(all: readonly WireModel[], query: HearthCall["query"]): Page {
  const limit = readLimit(query["limit"]);
  const { after_id: after, before_id: before } = query;
  if (typeof before === "string" && before !== "") {
    const end = Math.max(0, indexOf(all, before));
    const start = Math.max(0, end - limit);
    return { data: all.slice(start, end), has_more: start > 0 };
  }
  const start = typeof after === "string" && after !== "" ? indexOf(all, after) + 1 : 0;
  return { data: all.slice(start, start + limit), has_more: start + limit < all.length };
}

function indexOf(all: readonly WireModel[], id: string): number {
  const index = all.findIndex((model) => model.id === id);
  return index < 0 ? all.length : index;
}

function readLimit(written: unknown): number {
  if (written === undefined || written === "") return usualLimit;
  const limit = Number(written);
  if (Number.isInteger(limit) && limit >= 1 && limit <= mostModels) return limit;
  throw requestFailure({
    kind: "request-invalid",
    place: "limit",
    reason: `must be an integer from 1 to ${mostModels}`,
  });
}

function answer(value: unknown, call: HearthCall): WholeAnswer {
  const whole = jsonAnswer(value);
  return { ...whole, headers: { ...whole.headers, ...requestIdHeader(call) } };
}
