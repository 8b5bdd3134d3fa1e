import type { RequestRecord } from "@hearth-and-keep/http-service";

type Attributes = Readonly<Record<string, string | number | string[]>>;

type DescribedRequest = {
  readonly name: string;
  readonly attributes: Attributes;
  readonly isError: boolean;
};

/** `gen_ai.operation.name` of each path that runs a model; other paths have no span. */
const operations: Readonly<Record<string, string>> = {
  "/api/chat": "chat",
  "/api/generate": "text_completion",
  "/api/embed": "embeddings",
  "/api/embeddings": "embeddings",
  "/chat/completions": "chat",
  "/completions": "text_completion",
  "/responses": "chat",
  "/embeddings": "embeddings",
  "/messages": "chat",
};

/** The names of the semantic conventions for generative AI; ours begin with `hearth.`. */
const fieldAttributes: Readonly<Record<string, string>> = {
  model: "gen_ai.request.model",
  promptTokens: "gen_ai.usage.input_tokens",
  cachedTokens: "gen_ai.usage.cache_read.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  failure: "error.type",
  requestId: "hearth.request_id",
  keyName: "hearth.key_name",
  runsOn: "hearth.runs_on",
};

export function describeRequest(
  request: RequestRecord,
  { host, port }: { readonly host: string; readonly port: number },
): DescribedRequest | undefined {
  const { model, runsOn, status, stopReason, firstTokenMilliseconds } = request;
  const [method = "", route = ""] = request.route.split(" ");
  // Some clients repeat the prefix of the API or leave it out.
  const path = route.replace(/^(?:\/alt)?(?:\/v1)*/u, "");
  const operation = method === "POST" && Object.hasOwn(operations, path) ? operations[path] : undefined;
  if (operation === undefined) return undefined;
  return {
    // Names that clients made up are no names of spans.
    name: typeof model === "string" && runsOn !== undefined ? `${operation} ${model}` : operation,
    attributes: {
      "gen_ai.operation.name": operation,
      "gen_ai.provider.name": "hearth",
      "server.address": host,
      "server.port": port,
      "http.request.method": method,
      "http.route": route,
      "http.response.status_code": status,
      ...pickAttributes(request),
      ...(typeof model === "string" && status === 200 ? { "gen_ai.response.model": model } : {}),
      ...(typeof stopReason === "string" ? { "gen_ai.response.finish_reasons": [stopReason] } : {}),
      ...(typeof firstTokenMilliseconds === "number"
        ? { "gen_ai.response.time_to_first_chunk": firstTokenMilliseconds / 1000 }
        : {}),
    },
    // Errors of the client are not failures of the server that writes the span.
    isError: status >= 500,
  };
}

function pickAttributes(request: RequestRecord): Attributes {
  const picked: Record<string, string | number> = {};
  for (const [field, attribute] of Object.entries(fieldAttributes)) {
    const value = request[field];
    if (typeof value === "string" || typeof value === "number") picked[attribute] = value;
  }
  return picked;
}

/** In milliseconds since the request began. */
type Phase = { readonly name: string; readonly from: number; readonly to: number };

/** What a request spent its time with, in this order. The time to read its body is part of the first phase. */
export function describePhases(request: RequestRecord): readonly Phase[] {
  const { queueMilliseconds, loadMilliseconds, firstTokenMilliseconds, durationMilliseconds } = request;
  const queued = numberOr(queueMilliseconds, 0);
  const loaded = queued + numberOr(loadMilliseconds, 0);
  const firstToken = numberOr(firstTokenMilliseconds, durationMilliseconds);
  const wasRun = typeof queueMilliseconds === "number";
  const hasOutput = typeof firstTokenMilliseconds === "number";
  const phases: readonly Phase[] = [
    { name: "queue", from: 0, to: queued },
    { name: "load", from: queued, to: loaded },
    ...(wasRun ? [{ name: "prefill", from: loaded, to: firstToken }] : []),
    ...(hasOutput ? [{ name: "decode", from: firstToken, to: durationMilliseconds }] : []),
  ];
  return phases
    .filter(({ from, to }) => to > from)
    .map(({ name, from, to }) => ({ name, from, to: Math.min(to, durationMilliseconds) }));
}

function numberOr(value: unknown, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}
