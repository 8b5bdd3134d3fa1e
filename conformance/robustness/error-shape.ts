/**
 * @module
 * Faults and load, one question per file: malformed requests, dying workers, crowds, models that come and go, canaries,
 * slow readers and the end of the server. Each counts what it tried, and every refusal has a twin that is answered.
 * Official clients where what they see is the question, raw sockets where they would never send such bytes.
 * Nothing imports it; `show` and CI run it as tests.
 */
import type { Protocol } from "../../apps/hearth/src/protocol.ts";

export type Refusal = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
};

/** What is wrong with a refusal in the eyes of its family's clients; undefined when nothing is. */
export function findShapeFault(family: Protocol["name"], refusal: Refusal): string | undefined {
  const { status, contentType, body } = refusal;
  // Paths that are not there are answered by the router of the original, which knows no JSON.
  if (family === "ollama" && (status === 404 || status === 405) && contentType.startsWith("text/plain")) {
    return /^40[45] [a-z ]+$/u.test(body) ? undefined : `not the router's words: "${body}"`;
  }
  if (!contentType.startsWith("application/json")) return `a refusal of type "${contentType}"`;
  const parsed = parse(body);
  if (parsed === undefined) return `not JSON: "${body.slice(0, 200)}"`;
  return isShaped[family](parsed) ? undefined : `not of the family ${family}: "${body.slice(0, 200)}"`;
}

const isShaped: Readonly<Record<Protocol["name"], (body: Fields) => boolean>> = {
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
