/**
 * @module
 * Faults and load, one topic per file: malformed requests, crashing workers, overload, models that are loaded and
 * unloaded, canaries, slow readers and shutdown. Each test counts its attempts, and every rejected request has a valid
 * counterpart that succeeds. Official clients show what users see; raw sockets send bytes that no client would send.
 * Nothing imports it; `show` and CI run it as tests.
 */
import type { Protocol } from "../../apps/hearth/src/protocol.ts";

export type ErrorResponse = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
};

/** Describes how an error response deviates from the format of its API; undefined if it does not. */
export function findShapeFault(protocol: Protocol["name"], response: ErrorResponse): string | undefined {
  const { status, contentType, body } = response;
  // For unknown paths, Ollama's router returns plain text instead of JSON.
  if (protocol === "ollama" && (status === 404 || status === 405) && contentType.startsWith("text/plain")) {
    return /^40[45] [a-z ]+$/u.test(body) ? undefined : `not the router's text: "${body}"`;
  }
  if (!contentType.startsWith("application/json")) return `error response of type "${contentType}"`;
  const parsed = parse(body);
  if (parsed === undefined) return `not JSON: "${body.slice(0, 200)}"`;
  return hasErrorShape[protocol](parsed)
    ? undefined
    : `not an error of the ${protocol} API: "${body.slice(0, 200)}"`;
}

const hasErrorShape: Readonly<Record<Protocol["name"], (body: Fields) => boolean>> = {
  ollama: ({ error }) => isText(error),
  openai: ({ error }) =>
    isFields(error) &&
    isText(error["message"]) &&
    ["invalid_request_error", "server_error"].includes(String(error["type"])) &&
    [error["param"], error["code"]].every((value) => value === null || isText(value)),
  anthropic: ({ type, error, request_id }) =>
    type === "error" &&
    isFields(error) &&
    isText(error["message"]) &&
    /^[a-z_]+$/u.test(String(error["type"])) &&
    isText(request_id),
};

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function parse(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
