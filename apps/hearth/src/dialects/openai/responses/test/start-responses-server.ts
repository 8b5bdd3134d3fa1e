/**
 * @module
 * A server for the tests of the Responses API: a tiny model that parses its own output, with optional API keys and
 * a response store. Imported by the tests of the parent folder.
 */
import type { EngineDescription, EngineRequest, Message } from "@hearth-and-keep/engine";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import OpenAI from "openai";
import { accessKey } from "../../../../access/keys.ts";
import type { ReadPdf } from "../../../../dependencies.ts";
import {
  startTestServer,
  type TestServer,
  type TestServerOptions,
  tiny,
  tinyVision,
} from "../../../../test/start-test-server.ts";
import { ResponseStore, type StoreLimits } from "../response-store.ts";

export type ResponsesServerOptions = {
  /** Without a script the model runs in llama.cpp with one thread. */
  readonly script?: FakeEngineScript;
  readonly description?: Partial<EngineDescription>;
  readonly responses?: ResponseStore;
  readonly readPdf?: ReadPdf;
  /** Gives the model a projector. */
  readonly hasVision?: boolean;
  readonly limits?: TestServerOptions["limits"];
  /** Accepted API keys, each named like itself; none means no authentication. */
  readonly keys?: readonly string[];
};

export type ResponsesServer = TestServer & {
  /** The log record of the last request. */
  readonly logRecord: Readonly<Record<string, unknown>>;
  client(key?: string): OpenAI;
};

export async function startResponsesServer({
  description,
  keys = [],
  hasVision = false,
  limits,
  ...options
}: ResponsesServerOptions): Promise<ResponsesServer> {
  const server = await startTestServer({
    ...options,
    models: { tiny: hasVision ? tinyVision : tiny },
    description: { splitsEvents: true, ...description },
    limits: { contextTokens: 64, ...limits },
    access: { keys: keys.map((key) => accessKey(key, key)) },
  });
  return {
    ...server,
    get requests() {
      return server.requests;
    },
    get logRecord() {
      return server.logRecords().findLast(({ route }) => route === "POST /v1/responses") ?? {};
    },
    client: (key = "any") => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: key, maxRetries: 0 }),
  };
}

/** A store with ample limits, except for those given. */
export function storeOf(changes: Partial<StoreLimits> = {}): ResponseStore {
  const mebibyte = 1024 * 1024;
  return new ResponseStore({
    maxResponses: 512,
    maxBytes: 64 * mebibyte,
    maxTotalBytes: 256 * mebibyte,
    idleSeconds: 86_400,
    ...changes,
  });
}

/** The conversation in an engine request. */
export function messagesOf(request: EngineRequest | undefined): readonly Message[] {
  if (request?.input.type !== "conversation") throw new Error("The engine request has no conversation");
  return request.input.conversation.messages;
}
