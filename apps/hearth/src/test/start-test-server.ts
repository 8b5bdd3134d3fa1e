/**
 * @module
 * Hearth as a server for tests: real HTTP, a real store with real model files, and either llama.cpp or an engine that
 * plays a script. Promises that everything is gone when the scope ends.
 * Imported by the tests of this program and by `conformance/` and `bench/`.
 */

import type { EngineDescription, EngineDriver, GenerateRequest } from "@hearth-and-keep/engine";
import { createScriptedEngine, type Script, type ScriptedEngine } from "@hearth-and-keep/engine/testing";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { createLogger } from "@hearth-and-keep/logging";
import { createOutbound, type Outbound, OutboundProblem } from "@hearth-and-keep/outbound-http";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import type { Choose } from "@hearth-and-keep/upstream-engine";
import type { Access } from "../access/admit.ts";
import type { ResponseStore } from "../dialects/openai/responses/response-store.ts";
import type { FetchImage } from "../images/fetch-image.ts";
import { createMetrics } from "../metrics.ts";
import { createCatalog } from "../models/catalog.ts";
import { createFromFile } from "../models/create-from-file.ts";
import type { ModelExtras } from "../models/model-extras.ts";
import type { Credentials } from "../models/registry/credentials.ts";
import type { RemoteModel } from "../models/remote/engines-file.ts";
import { withoutRemoteModels, withRemoteModels } from "../models/remote/remote-models.ts";
import { type ModelStore, openModelStore } from "../models/store/model-store.ts";
import { createTransfers, type TransferLimits } from "../models/transfers/create-transfers.ts";
import type { SchedulingLimits } from "../scheduling/limits.ts";
import { openRemoteEngines } from "../scheduling/remote-engines.ts";
import { createScheduler, type Scheduler } from "../scheduling/scheduler.ts";
import { createModelServer, logFields } from "../server.ts";
import { readPageFiles } from "../web-ui/handlers.ts";

export type TestServerPlan = {
  /** Names of models and the files they are made from. */
  readonly models: Readonly<Record<string, TestModelPlan>>;
  /** A store that was laid out before, and is its maker's to remove; otherwise an empty one. */
  readonly storeFolder?: string;
  /** What every engine says; without a script the models run in llama.cpp, with one thread. */
  readonly script?: Script;
  /** Another engine than llama.cpp's binding. */
  readonly driver?: EngineDriver;
  /** Fetches images that requests name by their addresses. */
  readonly fetchImage?: FetchImage;
  /** What a scripted engine tells of itself. */
  readonly description?: Partial<EngineDescription>;
  readonly access?: Access;
  readonly limits?: Partial<SchedulingLimits>;
  /** Registries that tests started; no other private host is called. */
  readonly privateRegistries?: readonly string[];
  /** Whatever is pulled or pushed, nobody is called. */
  readonly isOffline?: boolean;
  readonly credentials?: Credentials;
  readonly transferLimits?: Partial<TransferLimits>;
  /** Models that run on engines elsewhere, and who of them is asked when a test decides it. */
  readonly remote?: readonly RemoteModel[];
  readonly choose?: Choose;
  /** Conversations that are continued by an id. */
  readonly responses?: ResponseStore;
  /** For tests about memory, which the kept lines would fill. */
  readonly forgetsLog?: boolean;
};

export type TestModelPlan = {
  readonly file: Parameters<typeof testModel>[0];
  readonly projector?: Parameters<typeof testModel>[0];
  readonly extras?: ModelExtras;
};

export type TestServer = AsyncDisposable & {
  readonly url: string;
  readonly scheduler: Scheduler;
  /** Everything that scripted engines were asked for, in order. */
  readonly requests: readonly GenerateRequest[];
  /** Log lines so far, parsed. */
  logged(): readonly Readonly<Record<string, unknown>>[];
};

/**
 * SmolLM2's template knows no tools; the tiny one, of random weights, has tools and thinking, and sees with its
 * projector; MiniLM only embeds.
 */
export const smol: TestModelPlan = { file: "smollm2-135m-instruct-q4_1.gguf" };
export const tiny: TestModelPlan = { file: "tiny-llama.gguf" };
export const seeing: TestModelPlan = { ...tiny, projector: "tiny-projector.gguf" };
export const minilm: TestModelPlan = { file: "all-minilm-l6-v2-f32.gguf" };

export async function startTestServer(plan: TestServerPlan): Promise<TestServer> {
  await using stack = new AsyncDisposableStack();
  const storeFolder = plan.storeFolder ?? stack.use(await makeTemporaryFolder("hearth-models")).path;
  const store = await openModelStore(storeFolder, "own");
  await createModels(store, plan.models);
  const engines: ScriptedEngine[] = [];
  const lines: string[] = [];
  const remote = stack.use(openRemoteEngines(plan.remote ?? [], plan.choose && { choose: plan.choose }));
  const scheduler = createScheduler({
    driver: remote.beside(
      plan.driver ?? (plan.script === undefined ? createLlamaDriver() : scriptedDriver(plan, engines)),
    ),
    loadSettings: { threads: 1, gpuLayers: 0 },
    limits: { contextTokens: 1024, sequences: 2, ...plan.limits },
  });
  stack.defer(() => scheduler.close(0));
  const metrics = createMetrics(scheduler, { pools: () => remote.snapshots() });
  const outbound =
    plan.isOffline === true
      ? offline
      : stack.use(createOutbound({ privateHosts: plan.privateRegistries ?? [] }));
  const server = createModelServer({
    metrics,
    transfers: withoutRemoteModels(
      createTransfers({
        stores: [store],
        outbound,
        credentials: plan.credentials ?? { forHost: () => undefined },
        ...(plan.transferLimits === undefined ? {} : { limits: plan.transferLimits }),
      }),
      plan.remote ?? [],
    ),
    models: withRemoteModels(createCatalog([store]), plan.remote ?? [], remote.learn),
    scheduler,
    page: await readPageFiles(),
    fetchImage: plan.fetchImage,
    ...(plan.responses === undefined ? {} : { responses: plan.responses }),
    access: plan.access ?? { keys: [] },
    logger: createLogger({
      level: "debug",
      allowedFields: logFields,
      write: (line) => (plan.forgetsLog === true ? undefined : lines.push(line)),
    }),
  });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  stack.defer(() => server.close(1));
  const kept = stack.move();
  return {
    url,
    scheduler,
    get requests() {
      return engines.flatMap((engine) => engine.requests);
    },
    logged: () => lines.map((line): Readonly<Record<string, unknown>> => JSON.parse(line)),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function createModels(store: ModelStore, models: TestServerPlan["models"]): Promise<void> {
  for (const [name, { file, projector, extras }] of Object.entries(models)) {
    await createFromFile([store], {
      name,
      file: await testModel(file),
      ...(projector === undefined ? {} : { projector: await testModel(projector) }),
      ...(extras === undefined ? {} : { extras }),
    });
  }
}

const offline: Outbound = {
  request: ({ host }) => Promise.reject(new OutboundProblem(host, "no-address")),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

function scriptedDriver(
  { script = () => [], description = {} }: TestServerPlan,
  engines: ScriptedEngine[],
): EngineDriver {
  return {
    load: async ({ contextTokens, sequences }) => {
      const abilities = { templateAbilities: { tools: true, thinking: true } };
      const engine = createScriptedEngine(script, { contextTokens, sequences, ...abilities, ...description });
      engines.push(engine);
      return engine;
    },
  };
}
