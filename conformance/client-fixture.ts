/**
 * @module
 * The official clients of the Ollama, OpenAI and Anthropic APIs against a running Hearth with an API key. Each file
 * covers one client: all its methods with the right key, and each endpoint without a key and with a wrong key. The
 * client decides: it must accept every response and throw its own error class for every error.
 * A fake engine provides what small weights do not do reliably: tool calls, thinking and failures.
 * Nothing imports from here.
 */

import type { EngineDriver, EngineEvent, EngineRequest } from "@hearth-and-keep/engine";
import type { FakeEngineScript, FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { preparePython } from "@hearth-and-keep/test-servers";
import { accessKey } from "../apps/hearth/src/access/keys.ts";
import type { TestModelOptions } from "../apps/hearth/src/test/prepared-models.ts";
import {
  minilm,
  smol,
  startTestServer,
  type TestServer,
  tiny,
} from "../apps/hearth/src/test/start-test-server.ts";
import { engineOfClients } from "./config.ts";

export type ClientFixture = AsyncDisposable & {
  /** SmolLM2 as `smol`, a tiny model with random weights as `tiny`, MiniLM as `minilm`, all in llama.cpp. */
  readonly real: TestServer;
  /** A fake engine with one slot. With tools it calls them for two cities; otherwise it says that it is sunny. */
  readonly fake: TestServer;
};

export const rightKey = "the-right-key";
export const wrongKey = "a-wrong-key";

/** Last user messages that change what the fake engine does. */
export const cues = {
  breakAtOnce: "break at once",
  breakHalfway: "break halfway",
  fallSilent: "fall silent",
  neverEnd: "never end",
  speakFirst: "speak first",
};

export const cityParameters = {
  type: "object" as const,
  properties: { city: { type: "string" as const } },
  required: ["city"],
  additionalProperties: false,
};

/** Short enough for sixteen tokens. */
export const okSchema = {
  type: "object" as const,
  properties: { ok: { type: "boolean" as const } },
  required: ["ok"],
  additionalProperties: false,
};

/** One pixel. */
export const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** `models` are further models of the server with real weights, by name. */
export async function startClientFixture(
  models: Readonly<Record<string, TestModelOptions>> = {},
): Promise<ClientFixture> {
  await using stack = new AsyncDisposableStack();
  const access = { keys: [accessKey("conformance", rightKey)] };
  const privateRegistries = ["127.0.0.1"];
  const real = stack.use(
    await startTestServer({
      models: { smol, tiny, minilm, ...models },
      access,
      privateRegistries,
      ...(await realEngine()),
    }),
  );
  const fake = stack.use(
    await startTestServer({
      models: { tiny },
      access,
      privateRegistries,
      script: weatherScript,
      description: { splitsEvents: true },
      limits: { sequences: 1 },
    }),
  );
  const resources = stack.move();
  return { real, fake, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** The engine for real weights, unless it is the binding. Records every load, so that results name the engine. */
export async function realEngine(): Promise<{ readonly driver?: EngineDriver }> {
  if (engineOfClients === "binding") return {};
  const { createLlamaServerDriver } = await import("@hearth-and-keep/upstream-engine");
  const { interpreter } = await preparePython();
  const driver = createLlamaServerDriver({ program: { kind: "xllamacpp", interpreter } });
  return {
    driver: {
      async load(plan, options) {
        const engine = await driver.load(plan, options);
        recordFigure({ claim: "loads", text: engine.describe().driver });
        return engine;
      },
    },
  };
}

const weatherScript: FakeEngineScript = (request) => {
  const { lastMessage, hasResults, isThinking } = inspectRequest(request);
  const broken = { do: "fail", failure: { kind: "engine-crashed", exitCode: 1, signal: null } } as const;
  if (lastMessage === cues.breakAtOnce) return [broken];
  if (lastMessage === cues.breakHalfway) return [{ do: "write", text: "half" }, broken];
  if (lastMessage === cues.fallSilent) return stallAfterOneToken;
  if (lastMessage === cues.neverEnd) return endlessOutput();
  const thinking: EngineEvent[] = isThinking ? [{ type: "reasoning-delta", text: "I look it up" }] : [];
  const preamble: EngineEvent[] =
    lastMessage === cues.speakFirst ? [{ type: "text-delta", text: "Let me look", outputTokens: 1 }] : [];
  const calls = hasResults ? [] : callsOf(request);
  const output: FakeEngineStep[] = [
    { do: "write", text: "It is " },
    { do: "write", text: "sunny" },
  ];
  return [
    ...[...thinking, ...preamble, ...calls].map((event): FakeEngineStep => ({ do: "emit", event })),
    ...(calls.length === 0 ? output : []),
    { do: "end", reason: "stop" },
  ];
};

const stallAfterOneToken: readonly FakeEngineStep[] = [
  { do: "write", text: "a" },
  { do: "wait", milliseconds: 60_000 },
];

/** For clients that check for an abort only when the next token arrives. */
function* endlessOutput(): Generator<FakeEngineStep> {
  for (;;) {
    yield { do: "write", text: "a" };
    yield { do: "wait", milliseconds: 50 };
  }
}

function inspectRequest({ input }: EngineRequest) {
  const { messages = [], thinking } = input.type === "conversation" ? input.conversation : {};
  return {
    lastMessage: messages.findLast(({ role }) => role === "user")?.content ?? "",
    hasResults: messages.some(({ role }) => role === "tool"),
    isThinking: thinking !== false,
  };
}

function callsOf({ input, constraint }: EngineRequest): readonly EngineEvent[] {
  const [tool] = (input.type === "conversation" ? input.conversation.tools : undefined) ?? [];
  const maxCalls = constraint?.type === "tool-calls" ? constraint.maxCalls : 2;
  if (tool === undefined) return [];
  return ["Rome", "Oslo"].slice(0, maxCalls).flatMap((city, index): EngineEvent[] => [
    { type: "tool-call-start", index, id: `call_${city}`, name: tool.name },
    { type: "tool-call-delta", index, argumentsText: '{"city":' },
    { type: "tool-call-delta", index, argumentsText: `"${city}"}` },
  ]);
}

export type Tally = {
  /** Routes that succeeded, and that rejected a missing or a wrong key, sorted. */
  readonly succeeded: readonly string[];
  readonly withoutKey: readonly string[];
  readonly withWrongKey: readonly string[];
  readonly calls: number;
  readonly successfulCalls: number;
};

type LogLine = Readonly<Record<string, unknown>>;

/** Counts the requests in the logs of both servers, without preflight requests. */
export function tallyCalls({ real, fake }: ClientFixture): Tally {
  const lines = [...real.logRecords(), ...fake.logRecords()].filter(isCall);
  const routesWhere = (isMatch: (line: LogLine) => boolean) =>
    [...new Set(lines.filter(isMatch).map(({ route }) => String(route)))].toSorted();
  return {
    succeeded: routesWhere(isSuccess),
    withoutKey: routesWhere(({ failure }) => failure === "key-missing"),
    withWrongKey: routesWhere(({ failure }) => failure === "key-invalid"),
    calls: lines.length,
    successfulCalls: lines.filter(isSuccess).length,
  };
}

function isCall({ route }: LogLine): boolean {
  return typeof route === "string" && !route.startsWith("OPTIONS");
}

function isSuccess({ status }: LogLine): boolean {
  return Number(status) < 400;
}

/** The endpoints that change the model store. */
export const storeRoutes = [
  "DELETE /api/delete",
  "POST /api/blobs/:digest",
  "POST /api/copy",
  "POST /api/create",
  "POST /api/pull",
  "POST /api/push",
];

export function recordStoreCalls(client: string, { succeeded }: Pick<Tally, "succeeded">): void {
  const reached = storeRoutes.filter((route) => succeeded.includes(route)).length;
  recordFigure({
    claim: "store 11",
    text: `${client}: ${reached} of ${storeRoutes.length} store endpoints: pull with progress and abort, push, create, copy, delete, blobs`,
    counted: { reached, needed: storeRoutes.length },
  });
}

export function recordCalls(
  client: string,
  { calls, successfulCalls, succeeded }: Tally,
  needed: number,
): void {
  const rejected = `${calls - successfulCalls} rejected or aborted as expected`;
  recordFigure({
    claim: "families 3",
    text: `${client}: ${calls} of ${needed} calls on ${succeeded.length} endpoints, ${successfulCalls} succeeded and ${rejected}`,
    counted: { reached: calls, needed },
  });
}
