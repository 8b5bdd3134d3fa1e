/**
 * @module
 * The Ollama API: generation, embeddings, model management and transfers. Requests and responses have the shapes that
 * Ollama's clients parse, byte for byte where clients compare bytes; `fixtures/` holds responses of a real Ollama.
 * Imported by `routes.ts` and `server.ts`.
 */
import type { CallerStatus } from "@hearth-and-keep/hearth-contract";
import {
  type BufferedResponse,
  type HttpResponse,
  jsonResponse,
  textResponse,
} from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";

/**
 * The version of Ollama whose API this dialect follows. Clients compare it with the version they require
 * (VS Code's chat needs 0.6.4 and splits it at the dots), so it is not Hearth's own version.
 */
const apiVersion = "0.32.1";

/** Clients probe `HEAD /` to check that a server is running, and some compare the text. */
export function handleRoot(): BufferedResponse {
  return textResponse("Ollama is running");
}

export function handleVersion(): HttpResponse {
  return jsonResponse({ version: apiVersion });
}

/** Hearth has no cloud models. Ollama does not report a role; the web UI shows only what the caller's key may do. */
export function handleStatus({ actor }: HearthRequest): HttpResponse {
  const caller: CallerStatus = { role: actor.role };
  return jsonResponse({ cloud: { disabled: true, source: "none" }, ...caller });
}

/** For load balancers: 503 once the server has received a stop signal. */
export function handleReady(_request: HearthRequest, { isDraining }: HearthDependencies): HttpResponse {
  return isDraining?.() === true
    ? jsonResponse({ status: "draining" }, 503)
    : jsonResponse({ status: "ready" });
}
