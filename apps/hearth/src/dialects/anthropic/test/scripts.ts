/**
 * @module
 * Scripts for fake engines that parse their own output, for the tests of the Anthropic API, and a reader of raw
 * event streams. Imported by the tests of `dialects/anthropic/` only.
 */
import type { Conversation, EngineEvent } from "@hearth-and-keep/engine";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { smol, startTestServer, type TestServer } from "../../../test/start-test-server.ts";

type Step = ReturnType<FakeEngineScript> extends Iterable<infer Item> ? Item : never;

/** A server whose fake engine emits these events for every request and ends with the given reason. */
export function startFakeServer(
  events: readonly EngineEvent[],
  reason: "stop" | "length" = "stop",
): Promise<TestServer> {
  return startTestServer({
    models: { smol },
    description: { splitsEvents: true },
    script: () => fakeSteps(events, reason),
  });
}

export function fakeSteps(events: readonly EngineEvent[], reason: "stop" | "length" = "stop"): Step[] {
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
export const reasoning = (written: string): EngineEvent => ({ type: "reasoning-delta", text: written });
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
export const baseRequest = { model: "smol", max_tokens: 16, messages: [hello] };

export function post(server: TestServer, path: string, body: unknown): Promise<Response> {
  return fetch(`${server.url}${path}`, { method: "POST", body: JSON.stringify(body) });
}

/** The conversation of the last request that reached an engine. */
export function lastConversation(server: TestServer): Conversation {
  const input = server.requests.at(-1)?.input;
  if (input?.type !== "conversation") throw new Error("No conversation reached an engine");
  return input.conversation;
}

export type WireMessage = {
  readonly id: string;
  readonly content: readonly { readonly type: string; readonly text?: string; readonly thinking?: string }[];
  readonly stop_reason: string;
  readonly error: { readonly type: string; readonly message: string };
};

export async function readMessage(response: Response): Promise<WireMessage> {
  // Tests fail if the shape is different.
  return (await response.json()) as WireMessage;
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
