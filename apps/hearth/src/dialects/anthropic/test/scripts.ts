/**
 * @module
 * Answers for scripted engines that split them themselves, as tests of this family want to hear them, and a reader
 * of raw event streams. Imported by the tests of `dialects/anthropic/` only.
 */
import type { EngineEvent } from "@hearth-and-keep/engine";
import type { Script } from "@hearth-and-keep/engine/testing";
import { smol, startTestServer, type TestServer } from "../../../test/start-test-server.ts";

type Step = ReturnType<Script> extends Iterable<infer Item> ? Item : never;

/** A server whose engine plays these events, each request the same, and ends with the given reason. */
export function startSaying(
  events: readonly EngineEvent[],
  reason: "stop" | "length" = "stop",
): Promise<TestServer> {
  return startTestServer({
    models: { smol },
    description: { splitsEvents: true },
    script: () => playing(events, reason),
  });
}

export function playing(events: readonly EngineEvent[], reason: "stop" | "length" = "stop"): Step[] {
  return [...events.map((event): Step => ({ do: "emit", event })), { do: "end", reason }];
}

export const prompt = (total: number, cached: number): EngineEvent => ({
  type: "prompt-progress",
  evaluated: cached,
  total,
  cached,
});
export const text = (written: string): EngineEvent => ({
  type: "text-delta",
  text: written,
  outputTokens: 1,
});
export const thought = (written: string): EngineEvent => ({ type: "reasoning-delta", text: written });
export const call = (index: number, name: string, written: readonly string[]): EngineEvent[] => [
  { type: "tool-call-start", index, id: `call_${index}`, name },
  ...written.map((argumentsText): EngineEvent => ({ type: "tool-call-delta", index, argumentsText })),
];

export const weather = {
  name: "weather",
  description: "Tells the weather",
  input_schema: { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] },
};

export const hello = { role: "user" as const, content: "Hello" };
export const ask = { model: "smol", max_tokens: 16, messages: [hello] };

export function post(server: TestServer, path: string, body: unknown): Promise<Response> {
  return fetch(`${server.url}${path}`, { method: "POST", body: JSON.stringify(body) });
}

export type WireAnswer = {
  readonly id: string;
  readonly content: readonly { readonly type: string; readonly text?: string; readonly thinking?: string }[];
  readonly stop_reason: string;
  readonly error: { readonly type: string; readonly message: string };
};

export async function readAnswer(response: Response): Promise<WireAnswer> {
  // A test that finds something else fails at what it looks for.
  return (await response.json()) as WireAnswer;
}

export type StreamEvent = { readonly name: string; readonly content: Readonly<Record<string, unknown>> };

export async function readEvents(response: Response): Promise<readonly StreamEvent[]> {
  const frames = await response.text();
  return frames
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => {
      const [name = "", written = ""] = frame.split("\n");
      return { name: name.replace("event: ", ""), content: JSON.parse(written.replace("data: ", "")) };
    });
}
