import { type BufferedResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthRequest } from "../../dependencies.ts";
import { requestIdHeader } from "./errors.ts";

export function respond(value: unknown, request: HearthRequest): BufferedResponse {
  const response = jsonResponse(value);
  return { ...response, headers: { ...response.headers, ...requestIdHeader(request) } };
}
