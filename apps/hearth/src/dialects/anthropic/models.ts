import { type BufferedResponse, type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import { Type } from "typebox";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import { invalidField } from "../../failures.ts";
import type { ModelSummary } from "../../models/metadata/describe-model.ts";
import { effectiveContextTokens } from "../../scheduling/load-request.ts";
import { requestIdHeader } from "./errors.ts";

/** The query of a list of models; parameters that are not listed are allowed, ignored and named in the response. */
export const modelListQuery = Type.Object({
  // The values of all three are checked below.
  after_id: Type.Optional(Type.Unknown()),
  // As above.
  before_id: Type.Optional(Type.Unknown()),
  // As above.
  limit: Type.Optional(Type.Unknown()),
});

const defaultLimit = 20;
const maxLimit = 1000;

export async function handleAnthropicModelList(
  request: HearthRequest,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const listing = await models.list();
  const all = listing.models.map((model) => writeModel(model, effectiveContextTokens(model, scheduler)));
  const page = selectPage(all, request.query);
  return respond(
    { ...page, first_id: page.data[0]?.id ?? null, last_id: page.data.at(-1)?.id ?? null },
    request,
  );
}

export async function handleAnthropicModel(
  request: HearthRequest,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const model = await models.describe(request.parameters["*"] ?? "");
  return respond(writeModel(model, effectiveContextTokens(model, scheduler)), request);
}

type WireModel = ReturnType<typeof writeModel>;

function writeModel({ name, modifiedAt }: ModelSummary, contextTokens: number | null) {
  return {
    type: "model",
    id: name,
    display_name: name,
    created_at: modifiedAt,
    max_input_tokens: contextTokens,
    max_tokens: contextTokens,
    capabilities: null,
    lifecycle: "active",
    line: null,
    deprecated_at: null,
    retires_at: null,
  } as const;
}

type Page = { readonly data: readonly WireModel[]; readonly has_more: boolean };

/** The models after `after_id`, or before `before_id`. An unknown id yields an empty page. */
function selectPage(all: readonly WireModel[], query: HearthRequest["query"]): Page {
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

function readLimit(value: unknown): number {
  if (value === undefined || value === "") return defaultLimit;
  const limit = Number(value);
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit) return limit;
  throw invalidField("limit", `must be an integer between 1 and ${maxLimit}`);
}

function respond(value: unknown, request: HearthRequest): BufferedResponse {
  const response = jsonResponse(value);
  return { ...response, headers: { ...response.headers, ...requestIdHeader(request) } };
}
