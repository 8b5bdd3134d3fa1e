/**
 * @module
 * The official clients of the three families against a running Hearth that wants a key. Each file makes the calls of
 * one client: the whole list with the right key, and each endpoint also without a key and with a wrong one. What the
 * client says is what counts: it must take every answer, and throw its own error for every refusal.
 * What small weights cannot be relied on for (tool calls, thoughts, failures) is asked of a scripted engine.
 * Nothing imports from here.
 */

import type { EngineDriver, EngineEvent, GenerateRequest } from "@hearth-and-keep/engine";
import type { Script, ScriptStep } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { preparePython } from "@hearth-and-keep/test-servers";
import { accessKey } from "../apps/hearth/src/access/keys.ts";
import {
  minilm,
  smol,
  startTestServer,
  type TestServer,
  tiny,
} from "../apps/hearth/src/test/start-test-server.ts";
import { engineOfClients } from "./config.ts";

export type ClientStage = AsyncDisposable & {
  /** SmolLM2 as `smol`, the tiny model of random weights as `tiny`, MiniLM as `minilm`, all in llama.cpp. */
  readonly real: TestServer;
  /** One sequence of `tiny`, which looks up the weather in two cities when it has tools, and else says it is sunny. */
  readonly scripted: TestServer;
};

export const rightKey = "the-right-key";
export const wrongKey = "a-wrong-key";

/** What the last message of a user makes the scripted engine do. */
export const cues = {
  breakAtOnce: "break at once",
  breakHalfway: "break halfway",
  fallSilent: "fall silent",
  neverEnd: "never end",
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

export async function startStage(): Promise<ClientStage> {
  await using stack = new AsyncDisposableStack();
  const access = { keys: [accessKey("conformance", rightKey)] };
  const privateRegistries = ["127.0.0.1"];
  const real = stack.use(
    await startTestServer({
      models: { smol, tiny, minilm },
      access,
      privateRegistries,
      ...(await realEngine()),
    }),
  );
  const scripted = stack.use(
    await startTestServer({
      models: { tiny },
      access,
      privateRegistries,
      script: playWeather,
      description: { splitsEvents: true },
      limits: { sequences: 1 },
    }),
  );
  const kept = stack.move();
  return { real, scripted, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** What runs real weights, if it is not the binding; every load is told, so that nobody takes one for the other. */
export async function realEngine(): Promise<{ readonly driver?: EngineDriver }> {
  if (engineOfClients === "binding") return {};
  const { createLlamaServerDriver } = await import("@hearth-and-keep/upstream-engine");
  const { interpreter } = await preparePython();
  const driver = createLlamaServerDriver({ program: { kind: "xllamacpp", interpreter } });
  return {
    driver: {
      async load(plan, parts) {
        const engine = await driver.load(plan, parts);
        recordFigure({ claim: "loads", text: engine.describe().driver });
        return engine;
      },
    },
  };
}

const playWeather: Script = (request) => {
  const { lastWords, hasResults, isThinking } = lookAt(request);
  const broken = { do: "fail", failure: { kind: "engine-died", exitCode: 1, signal: null } } as const;
  if (lastWords === cues.breakAtOnce) return [broken];
  if (lastWords === cues.breakHalfway) return [{ do: "say", text: "half" }, broken];
  if (lastWords === cues.fallSilent) return silentAfterOne;
  if (lastWords === cues.neverEnd) return neverEnding();
  const thoughts: EngineEvent[] = isThinking ? [{ type: "reasoning-delta", text: "I look it up" }] : [];
  const calls = hasResults ? [] : callsOf(request);
  const said: ScriptStep[] = [
    { do: "say", text: "It is " },
    { do: "say", text: "sunny" },
  ];
  return [
    ...[...thoughts, ...calls].map((event): ScriptStep => ({ do: "emit", event })),
    ...(calls.length === 0 ? said : []),
    { do: "end", reason: "stop" },
  ];
};

const silentAfterOne: readonly ScriptStep[] = [
  { do: "say", text: "a" },
  { do: "wait", milliseconds: 60_000 },
];

/** For clients that look for an abort only when the next word comes. */
function* neverEnding(): Generator<ScriptStep> {
  for (;;) {
    yield { do: "say", text: "a" };
    yield { do: "wait", milliseconds: 50 };
  }
}

function lookAt({ input }: GenerateRequest) {
  const { messages = [], thinking } = input.type === "conversation" ? input.conversation : {};
  return {
    lastWords: messages.findLast(({ role }) => role === "user")?.content ?? "",
    hasResults: messages.some(({ role }) => role === "tool"),
    isThinking: thinking !== false,
  };
}

function callsOf({ input, constraint }: GenerateRequest): readonly EngineEvent[] {
  const [tool] = (input.type === "conversation" ? input.conversation.tools : undefined) ?? [];
  const mostCalls = constraint?.type === "tool-calls" ? constraint.mostCalls : 2;
  if (tool === undefined) return [];
  return ["Rome", "Oslo"].slice(0, mostCalls).flatMap((city, index): EngineEvent[] => [
    { type: "tool-call-start", index, id: `call_${city}`, name: tool.name },
    { type: "tool-call-delta", index, argumentsText: '{"city":' },
    { type: "tool-call-delta", index, argumentsText: `"${city}"}` },
  ]);
}

export type Tally = {
  /** Routes that answered, and that refused for want of a key or because of a wrong one, in the order of letters. */
  readonly answered: readonly string[];
  readonly withoutKey: readonly string[];
  readonly withWrongKey: readonly string[];
  readonly calls: number;
  readonly callsAnswered: number;
};

type LogLine = Readonly<Record<string, unknown>>;

/** What came over the wire, by the log of both servers; a browser's preflights are no calls. */
export function tallyCalls({ real, scripted }: ClientStage): Tally {
  const lines = [...real.logged(), ...scripted.logged()].filter(isCall);
  const routesWhere = (isMeant: (line: LogLine) => boolean) =>
    [...new Set(lines.filter(isMeant).map(({ route }) => String(route)))].toSorted();
  return {
    answered: routesWhere(isAnswered),
    withoutKey: routesWhere(({ failure }) => failure === "key-missing"),
    withWrongKey: routesWhere(({ failure }) => failure === "key-wrong"),
    calls: lines.length,
    callsAnswered: lines.filter(isAnswered).length,
  };
}

function isCall({ route }: LogLine): boolean {
  return typeof route === "string" && !route.startsWith("OPTIONS");
}

function isAnswered({ status }: LogLine): boolean {
  return Number(status) < 400;
}

/** What a client does with the store, on its way to other machines and back. */
export const storeRoutes = [
  "DELETE /api/delete",
  "POST /api/blobs/:digest",
  "POST /api/copy",
  "POST /api/create",
  "POST /api/pull",
  "POST /api/push",
];

export function recordStoreCalls(client: string, { answered }: Pick<Tally, "answered">): void {
  const reached = storeRoutes.filter((route) => answered.includes(route)).length;
  recordFigure({
    claim: "store 11",
    text: `${client}: ${reached} of ${storeRoutes.length} endpoints of the store: pull with progress and abort, push, create, copy, delete, blobs`,
    counted: { reached, needed: storeRoutes.length },
  });
}

export function recordCalls(client: string, { calls, callsAnswered, answered }: Tally, needed: number): void {
  const refused = `${calls - callsAnswered} refused or hung up as meant`;
  recordFigure({
    claim: "families 3",
    text: `${client}: ${calls} of ${needed} calls on ${answered.length} endpoints, ${callsAnswered} answered and ${refused}`,
    counted: { reached: calls, needed },
  });
}
