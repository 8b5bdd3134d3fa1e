/**
 * @module
 * Raw requests to the Ollama API, without a client library. Status, headers and body are returned unchanged.
 * Fake engine scripts and the recorded responses of a real Ollama are here too.
 * Imported by the tests of this folder's parent only.
 */
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import recorded from "../fixtures/recorded.json" with { type: "json" };

export type ParsedResponse = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as one object; the last one of a stream. */
  readonly last: Readonly<Record<string, unknown>>;
  /** The objects of a stream. */
  readonly objects: readonly Readonly<Record<string, unknown>>[];
};

type Server = { readonly url: string };
type Target = {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export async function sendRequest(
  server: Server,
  target: string | Target,
  body: unknown,
): Promise<ParsedResponse> {
  const { path, method = "POST", headers = {} } = typeof target === "string" ? { path: target } : target;
  const response = await fetch(server.url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return parseResponse(response);
}

export async function getRequest(
  server: Server,
  path: string,
  headers: Record<string, string> = {},
): Promise<ParsedResponse> {
  return parseResponse(await fetch(server.url + path, { headers }));
}

async function parseResponse(response: Response): Promise<ParsedResponse> {
  const text = await response.text();
  const isJson = /json/u.test(response.headers.get("content-type") ?? "");
  const objects = isJson
    ? text
        .split("\n")
        .filter((line) => line !== "")
        .map(parseObject)
    : [];
  return { status: response.status, headers: response.headers, text, objects, last: objects.at(-1) ?? {} };
}

export function parseObject(text: string): Readonly<Record<string, unknown>> {
  return JSON.parse(text);
}

/** A fake engine that outputs these chunks, one token each, and stops. */
export function fakeOutput(...chunks: readonly string[]): FakeEngineScript {
  return () => [
    ...chunks.map((text) => ({ do: "write", text }) as const),
    { do: "end", reason: "stop" } as const,
  ];
}

/** The names of an object's fields in order, including nested ones. */
export function keysOf(value: unknown, path = ""): readonly string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    `${path}${key}`,
    ...keysOf(inner, `${path}${key}.`),
  ]);
}

/** The responses of a real Ollama. */
export { recorded };
