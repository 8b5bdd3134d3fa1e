/**
 * @module
 * Raw calls of this family for its tests: what goes over the wire, without a client library between.
 * Promises that nothing of an answer is hidden: status, headers and body come as they are.
 * Imported by the tests of this folder's parent only.
 */
import type { Script } from "@hearth-and-keep/engine/testing";
import recorded from "../fixtures/recorded.json" with { type: "json" };

export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as one object; for a stream, its last. */
  readonly last: Readonly<Record<string, unknown>>;
  /** The objects of a stream. */
  readonly objects: readonly Readonly<Record<string, unknown>>[];
};

type Place = { readonly url: string };
type Target = {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export async function ask(server: Place, target: string | Target, body: unknown): Promise<Reply> {
  const { path, method = "POST", headers = {} } = typeof target === "string" ? { path: target } : target;
  const response = await fetch(server.url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return readReply(response);
}

export async function look(
  server: Place,
  path: string,
  headers: Record<string, string> = {},
): Promise<Reply> {
  return readReply(await fetch(server.url + path, { headers }));
}

async function readReply(response: Response): Promise<Reply> {
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

/** An engine that says these pieces, one token each, and ends its turn. */
export function saying(...pieces: readonly string[]): Script {
  return () => [
    ...pieces.map((text) => ({ do: "say", text }) as const),
    { do: "end", reason: "stop" } as const,
  ];
}

/** Names of an object's fields in their order, those of objects within it too. */
export function keysOf(value: unknown, path = ""): readonly string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    `${path}${key}`,
    ...keysOf(inner, `${path}${key}.`),
  ]);
}

/** What a real Ollama answered. */
export { recorded };
