/**
 * @module
 * A server for the tests of batches: two keys, and a model that repeats what it is sent, so that every result can be
 * attributed to its request.
 * Imported by the tests of batches of the OpenAI and Anthropic dialects.
 */
import type { EngineRequest } from "@hearth-and-keep/engine";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { accessKey } from "../../access/keys.ts";
import {
  startTestServer,
  type TestServer,
  type TestServerOptions,
  tiny,
} from "../../test/start-test-server.ts";

const keys = ["first", "second"];

/** Repeats the last message or the prompt, after `milliseconds`. */
export function echo(milliseconds = 0): FakeEngineScript {
  return (request) => [
    ...(milliseconds === 0 ? [] : [{ do: "wait" as const, milliseconds }]),
    { do: "write", text: `You said: ${textOf(request)}` },
    { do: "end", reason: "stop" },
  ];
}

/** The last message or the prompt. */
export function textOf({ input }: EngineRequest): string {
  return input.type === "conversation"
    ? String(input.conversation.messages.at(-1)?.content)
    : "prompt" in input
      ? input.prompt
      : "";
}

/** A server with two keys and a model that repeats what it is told. */
export function startEchoingServer(options: Partial<TestServerOptions> = {}): Promise<TestServer> {
  return startTestServer({
    models: { tiny },
    script: echo(),
    description: { splitsEvents: true },
    access: { keys: keys.map((key) => accessKey(key, key, "inference")) },
    ...options,
  });
}
