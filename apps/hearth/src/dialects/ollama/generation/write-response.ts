import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { runGeneration } from "../../../generation/run-generation.ts";
import { streamResponse } from "../stream-response.ts";
import { type ResponseOptions, streamEvents } from "./stream-events.ts";

/** Streams every object, or sends only the last one, which then contains the complete output. */
export async function writeResponse(
  request: HearthRequest,
  { scheduler, metrics }: Pick<HearthDependencies, "scheduler" | "metrics">,
  options: ResponseOptions,
): Promise<HttpResponse> {
  request.addLogFields({ model: options.generation.model.name });
  const events = runGeneration(options.generation, { scheduler, metrics }, request);
  // Filled in before the first object is yielded, and not read until then.
  const headers: Record<string, string> = {};
  const objects = streamEvents(events, options, headers);
  if (options.isStreamed) return streamResponse(request, objects, headers);
  let last: unknown;
  for await (const object of objects) last = object;
  const response = jsonResponse(last);
  return { ...response, headers: { ...response.headers, ...headers } };
}
