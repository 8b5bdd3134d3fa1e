/**
 * @module
 * A server for the tests of the Responses interface: one tiny model that splits its own answers, and keys and a
 * response store when a test wants them. Imported by the tests of this interface.
 */
import type { EngineDescription, GenerateRequest, Message } from "@hearth-and-keep/engine";
import type { Script } from "@hearth-and-keep/engine/testing";
import OpenAI from "openai";
import { accessKey } from "../../../../access/keys.ts";
import { startTestServer, type TestServer, tiny } from "../../../../test/start-test-server.ts";
import type { ResponseStore } from "../response-store.ts";

export type ResponsesServerPlan = {
  /** Without one the model runs in llama.cpp, with one thread. */
  readonly script?: Script;
  readonly description?: Partial<EngineDescription>;
  readonly responses?: ResponseStore;
  /** Keys the server takes, each its own name; without any it asks for none. */
  readonly keys?: readonly string[];
};

export type ResponsesServer = TestServer & {
  /** What was logged of the last request. */
  readonly notes: Readonly<Record<string, unknown>>;
  client(key?: string): OpenAI;
};

export async function startResponsesServer({
  description,
  keys = [],
  ...plan
}: ResponsesServerPlan): Promise<ResponsesServer> {
  const server = await startTestServer({
    ...plan,
    models: { tiny },
    description: { splitsEvents: true, ...description },
    limits: { contextTokens: 64 },
    access: { keys: keys.map((key) => accessKey(key, key)) },
  });
  return {
    ...server,
    get requests() {
      return server.requests;
    },
    get notes() {
      return server.logged().findLast(({ route }) => route === "POST /v1/responses") ?? {};
    },
    client: (key = "any") => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: key, maxRetries: 0 }),
  };
}

/** What an engine was shown. */
export function messagesOf(request: GenerateRequest | undefined): readonly Message[] {
  if (request?.input.type !== "conversation") throw new Error("Cannot look: the engine got no conversation");
  return request.input.conversation.messages;
}
