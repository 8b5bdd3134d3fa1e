import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthRequest } from "../../dependencies.ts";
import { streamResponse } from "./stream-response.ts";
import type { ProgressStatus } from "./transfer-status.ts";

/** Streams every status. If `stream` is false, sends only the last; a failure then has its own HTTP status. */
export async function progressResponse(
  request: HearthRequest<{ readonly stream?: boolean | null }>,
  statuses: AsyncIterable<ProgressStatus>,
): Promise<HttpResponse> {
  if (request.body.stream !== false) return streamResponse(request, statuses, {});
  let last: ProgressStatus = { status: "success" };
  for await (const status of statuses) last = status;
  return jsonResponse(last);
}
