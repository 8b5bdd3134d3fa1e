/**
 * @module
 * A Hearth server for tests: real HTTP, a real store with real model files, and either llama.cpp or a fake engine that
 * runs a script. Everything is removed when the scope ends.
 * Imported by the tests of this program and by `conformance/` and `bench/`.
 */

import type { EngineDescription, EngineDriver, EngineRequest } from "@hearth-and-keep/engine";
import { createFakeEngine, type FakeEngine, type FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { createLogger } from "@hearth-and-keep/logging";
import { createOutbound, type Outbound, OutboundError } from "@hearth-and-keep/outbound-http";
import { makeTemporaryFolder, preparedWorker } from "@hearth-and-keep/test-servers";
import type { Choose } from "@hearth-and-keep/upstream-engine";
import type { Access } from "../access/authenticate.ts";
import type { GuardRoute } from "../accounting/guard-routes.ts";
import type { BatchLimits } from "../batches/limits.ts";
import type { ReadPdf } from "../dependencies.ts";
import type { ResponseStore } from "../dialects/openai/responses/response-store.ts";
import type { FetchImage } from "../images/fetch-image.ts";
import type { UsageLedger } from "../key-store/usage-ledger.ts";
import { createMetrics } from "../metrics.ts";
import { type AliasStore, createAliasStore, withAliases } from "../models/aliases/alias-store.ts";
import { type Catalog, createCatalog } from "../models/catalog.ts";
import { withDefaultSeed } from "../models/default-seed.ts";
import type { Credentials } from "../models/registry/credentials.ts";
import type { RemoteModel } from "../models/remote/engines-file.ts";
import {
  type GetEngineInfo,
  guardRemoteModels,
  refuseRemoteModels,
  withRemoteModels,
} from "../models/remote/remote-models.ts";
import { type ModelStore, openModelStore } from "../models/store/model-store.ts";
import { createTransfers, type TransferLimits } from "../models/transfers/create-transfers.ts";
import type { Transfers } from "../models/transfers/transfer.ts";
import type { SchedulingLimits } from "../scheduling/limits.ts";
import { openRemoteEngines } from "../scheduling/remote-engines.ts";
import type { LoadSettings } from "../scheduling/scheduled-model.ts";
import { createScheduler, type Scheduler } from "../scheduling/scheduler.ts";
import { createModelServer, logFields } from "../server.ts";
import type { Tracing } from "../tracing/open-tracing.ts";
import { readWebUiFiles } from "../web-ui/handlers.ts";
import {
  addPreparedModels,
  createModels,
  type TestModelOptions,
  type TestModels,
} from "./prepared-models.ts";

export type TestServerOptions = {
  /** For requests that set none; -1 draws one at random. */
  readonly seed?: number;
  /** Models to create, by name. */
  readonly models: TestModels;
  /** An existing store, which the caller removes; otherwise a new, empty one. */
  readonly storeFolder?: string;
  /** The output of the fake engine; without a script, models run in llama.cpp with one thread. */
  readonly script?: FakeEngineScript;
  /** Replaces llama.cpp. */
  readonly driver?: EngineDriver;
  /** How every model is loaded, beside one thread and no GPU. */
  readonly loadSettings?: LoadSettings;
  /** Fetches image URLs. */
  readonly fetchImage?: FetchImage;
  /** Extracts the text of PDFs. */
  readonly readPdf?: ReadPdf;
  /** What the fake engine describes itself as. */
  readonly description?: Partial<EngineDescription>;
  readonly access?: Access;
  /** Checks what stored keys may do. */
  readonly guardRoute?: GuardRoute;
  readonly ledger?: UsageLedger;
  readonly limits?: Partial<SchedulingLimits>;
  /** Registries of the test; no other private host is connected to. */
  readonly privateRegistries?: readonly string[];
  /** Every connection to a registry fails. */
  readonly isOffline?: boolean;
  readonly credentials?: Credentials;
  readonly transferLimits?: Partial<TransferLimits>;
  /** Models on remote engines; `choose` selects the engine. */
  readonly remote?: readonly RemoteModel[];
  readonly choose?: Choose;
  /** As `--no-remote` does. */
  readonly refusesRemote?: boolean;
  /** Stores responses for `previous_response_id`. */
  readonly responses?: ResponseStore;
  /** Bounds of batches and files. */
  readonly batchLimits?: Partial<BatchLimits>;
  readonly tracing?: Tracing;
  /** For memory tests, where log records would accumulate. */
  readonly discardsLog?: boolean;
};

export type TestServer = AsyncDisposable & {
  readonly url: string;
  readonly scheduler: Scheduler;
  /** All requests to fake engines, in order. */
  readonly requests: readonly EngineRequest[];
  /** The log records so far. */
  logRecords(): readonly Readonly<Record<string, unknown>>[];
};

/**
 * SmolLM2's template has no tools. The tiny model has random weights, tools and thinking, and vision or audio with one of
 * its projectors. MiniLM has embeddings only.
 */
export const smol: TestModelOptions = { file: "smollm2-135m-instruct-q4_1.gguf" };
export const tiny: TestModelOptions = { file: "tiny-llama.gguf" };
export const tinyVision: TestModelOptions = { ...tiny, projector: "tiny-projector.gguf" };
export const tinyAudio: TestModelOptions = { ...tiny, projector: "tiny-audio-projector.gguf" };
export const minilm: TestModelOptions = { file: "all-minilm-l6-v2-f32.gguf" };

export async function startTestServer(options: TestServerOptions): Promise<TestServer> {
  await using stack = new AsyncDisposableStack();
  const storeFolder = options.storeFolder ?? stack.use(await makeTemporaryFolder("hearth-models")).path;
  if (options.storeFolder === undefined) await addPreparedModels(storeFolder, options.models);
  else await createModels(storeFolder, options.models);
  const store = await openModelStore(storeFolder, "own");
  const engines: FakeEngine[] = [];
  const lines: string[] = [];
  const remote = stack.use(
    openRemoteEngines(options.remote ?? [], options.choose && { choose: options.choose }),
  );
  const scheduler = createScheduler({
    driver: remote.extendDriver(
      options.driver ??
        (options.script === undefined
          ? createLlamaDriver(await preparedWorker())
          : createFakeDriver(options, engines)),
    ),
    loadSettings: { threads: 1, gpuLayers: 0, ...options.loadSettings },
    limits: { contextTokens: 1024, sequences: 2, ...options.limits },
  });
  stack.defer(() => scheduler.close(0));
  const metrics = createMetrics(scheduler, { pools: () => remote.snapshots() });
  const outbound =
    options.isOffline === true
      ? offline
      : stack.use(createOutbound({ privateHosts: options.privateRegistries ?? [] }));
  const aliases = createAliasStore([store]);
  const server = createModelServer({
    metrics,
    transfers: guardRemoteModels(openTransfers(store, outbound, options), options.remote ?? []),
    // Real weights generate the same output for the same prompt, so no test depends on chance.
    models: withDefaultSeed(openCatalog(store, options, { ...remote, aliases }), options.seed ?? 1),
    aliases,
    scheduler,
    webUiFiles: await readWebUiFiles(),
    fetchImage: options.fetchImage,
    readPdf: options.readPdf,
    ...optionalDependencies(options),
    access: options.access ?? { keys: [] },
    logger: createLogger({
      level: "debug",
      allowedFields: logFields,
      write: (line) => (options.discardsLog === true ? undefined : lines.push(line)),
    }),
  });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  stack.defer(() => server.close(1));
  const resources = stack.move();
  return {
    url,
    scheduler,
    get requests() {
      return engines.flatMap((engine) => engine.requests);
    },
    logRecords: () => lines.map((line): Readonly<Record<string, unknown>> => JSON.parse(line)),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function optionalDependencies({ responses, tracing, batchLimits, guardRoute, ledger }: TestServerOptions) {
  return {
    ...(responses === undefined ? {} : { responses }),
    ...(tracing === undefined ? {} : { tracing }),
    ...(batchLimits === undefined ? {} : { batchLimits }),
    ...(guardRoute === undefined ? {} : { guardRoute }),
    ...(ledger === undefined ? {} : { ledger }),
  };
}

function openCatalog(
  store: ModelStore,
  { remote = [], refusesRemote = false }: TestServerOptions,
  { aliases, getEngineInfo }: { readonly aliases: AliasStore; readonly getEngineInfo: GetEngineInfo },
): Catalog {
  const all = withRemoteModels(createCatalog([store]), remote, getEngineInfo);
  return withAliases(refusesRemote ? refuseRemoteModels(all) : all, aliases);
}

function openTransfers(
  store: ModelStore,
  outbound: Outbound,
  { credentials, transferLimits }: TestServerOptions,
): Transfers {
  return createTransfers({
    stores: [store],
    outbound,
    credentials: credentials ?? { forHost: () => undefined },
    ...(transferLimits === undefined ? {} : { limits: transferLimits }),
  });
}

const offline: Outbound = {
  request: ({ host }) => Promise.reject(new OutboundError(host, "no-address")),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

function createFakeDriver(
  { script = () => [], description = {} }: TestServerOptions,
  engines: FakeEngine[],
): EngineDriver {
  return {
    load: async ({ contextTokens, sequences }) => {
      const capabilities = { templateCapabilities: { tools: true, thinking: true } };
      const engine = createFakeEngine(script, { contextTokens, sequences, ...capabilities, ...description });
      engines.push(engine);
      return engine;
    },
  };
}
