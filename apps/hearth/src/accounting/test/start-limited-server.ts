/**
 * @module
 * Servers whose keys are in a database, for tests. Several servers on one database behave as several nodes.
 * Imported by the tests of `accounting/` and by `conformance/`.
 */
import type { FakeEngineScript, FakeEngineStep } from "@hearth-and-keep/engine/testing";
import type { AccessKey } from "../../access/keys.ts";
import type { KeyDatabase } from "../../key-store/test/key-databases.ts";
import {
  startTestServer,
  type TestServer,
  type TestServerOptions,
  tiny,
} from "../../test/start-test-server.ts";
import { type AccountingOptions, openAccounting } from "../open-accounting.ts";

export type LimitedServer = TestServer;

export type LimitedServerOptions = Partial<TestServerOptions> & {
  readonly accounting?: AccountingOptions;
  /** Keys beside those of the database. */
  readonly keys?: readonly AccessKey[];
};

export async function startLimitedServer(
  database: Pick<KeyDatabase, "open">,
  { accounting: accountingOptions, keys = [], ...options }: LimitedServerOptions = {},
): Promise<LimitedServer> {
  await using stack = new AsyncDisposableStack();
  const store = await database.open();
  const accounting = stack.use(await openAccounting(store, rethrow, accountingOptions));
  const { storedKeys, guardRoute, ledger } = accounting;
  const server = stack.use(
    await startTestServer({
      models: { tiny, other: tiny },
      script: sayHello,
      description: { sequences: 64 },
      limits: { sequences: 64, maxQueuedPerModel: 1000, maxQueuedTotal: 1000 },
      access: { keys, storedKeys },
      guardRoute,
      ledger,
      ...options,
    }),
  );
  const resources = stack.move();
  return { ...server, url: server.url, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** An error of the database fails the test run. */
function rethrow(error: unknown): never {
  throw error;
}

/** The usage that the fake engine reports for a prompt. */
const promptTokens = 1;

/** Two output tokens. */
export const sayHello: FakeEngineScript = () => [
  progress,
  { do: "write", text: "Hello " },
  { do: "write", text: "there" },
  { do: "end", reason: "stop" },
];

const progress: FakeEngineStep = {
  do: "emit",
  event: { type: "prompt-progress", evaluated: promptTokens, total: promptTokens, cached: 0 },
};

/** One token every few milliseconds, for minutes. */
export const speakForever: FakeEngineScript = function* speak() {
  yield progress;
  for (let index = 0; index < 20_000; index += 1) {
    yield { do: "write", text: "word " };
    yield { do: "wait", milliseconds: 10 };
  }
  yield { do: "end", reason: "stop" };
};

/** A family of the API with one route that generates. */
export type Family = {
  readonly name: "ollama" | "openai" | "anthropic";
  readonly path: string;
  readonly body: (changes?: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** The name of the headers, and how they give the moment at which a window is empty. */
  readonly header: (window: "requests" | "tokens", part: "limit" | "remaining" | "reset") => string;
};

const messages = [{ role: "user", content: "Hi" }];
const openaiHeader: Family["header"] = (window, part) => `x-ratelimit-${part}-${window}`;

export const families: readonly Family[] = [
  {
    name: "ollama",
    path: "/api/chat",
    body: (changes) => ({ model: "tiny", messages, stream: false, ...changes }),
    header: openaiHeader,
  },
  {
    name: "openai",
    path: "/v1/chat/completions",
    body: (changes) => ({ model: "tiny", messages, ...changes }),
    header: openaiHeader,
  },
  {
    name: "anthropic",
    path: "/alt/v1/messages",
    body: (changes) => ({ model: "tiny", messages, max_tokens: 64, ...changes }),
    header: (window, part) => `anthropic-ratelimit-${window}-${part}`,
  },
];

export type Post = {
  readonly url: string;
  readonly secret: string;
  readonly path: string;
  readonly body: unknown;
  readonly signal?: AbortSignal;
};

export function post({ url, secret, path, body, signal }: Post): Promise<Response> {
  return fetch(url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}
