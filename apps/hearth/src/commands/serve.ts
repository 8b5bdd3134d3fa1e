/**
 * @module
 * The subcommands of `hearth`, one per file. Each receives its flags and dependencies and returns when it is done;
 * errors are thrown as failures, which `main.ts` turns into a message and an exit code. Imported by `main.ts` only.
 */
import { existsSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { readServedCertificate, watchServedCertificate } from "@hearth-and-keep/command-line";
import type { EngineDriver } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { type Certificate, serveUntil, type Transport } from "@hearth-and-keep/http-service";
import { createOutbound, type Outbound } from "@hearth-and-keep/outbound-http";
import { type Access, requiresKey } from "../access/authenticate.ts";
import { isLoopbackAddress } from "../access/loopback.ts";
import { readAccess } from "../access/read-access.ts";
import type { Accounting } from "../accounting/open-accounting.ts";
import type { BatchLimits } from "../batches/limits.ts";
import type { ServeConfig } from "../config.ts";
import { openResponseStore } from "../dialects/openai/responses/open-response-store.ts";
import { ResponseStore, type StoreLimits } from "../dialects/openai/responses/response-store.ts";
import { openPdfReader } from "../documents/read-pdf.ts";
import { explainFolderError } from "../encryption/machine-key.ts";
import type { CommandFailure } from "../failures.ts";
import { createImageFetcher, type FetchImage } from "../images/fetch-image.ts";
import { createMetrics, type Metrics } from "../metrics.ts";
import { type AliasStore, createAliasStore, withAliases } from "../models/aliases/alias-store.ts";
import { type Catalog, createCatalog } from "../models/catalog.ts";
import { withDefaultSeed } from "../models/default-seed.ts";
import { openStores } from "../models/open-stores.ts";
import { removeOldUploads } from "../models/prune.ts";
import { readCredentials } from "../models/registry/credentials.ts";
import { readEnginesFile } from "../models/remote/engines-file.ts";
import {
  guardRemoteModels,
  refuseRemoteModels,
  shadowedNames,
  withRemoteModels,
} from "../models/remote/remote-models.ts";
import type { ModelStores } from "../models/store/model-store.ts";
import { createTransfers } from "../models/transfers/create-transfers.ts";
import type { Transfers } from "../models/transfers/transfer.ts";
import { drainScheduler } from "../scheduling/drain-scheduler.ts";
import type { SchedulingEvent } from "../scheduling/events.ts";
import { openRemoteEngines } from "../scheduling/remote-engines.ts";
import type { LoadSettings } from "../scheduling/scheduled-model.ts";
import { createScheduler, type SchedulerOptions } from "../scheduling/scheduler.ts";
import { createModelServer, type HearthLogger } from "../server.ts";
import { appPaths } from "../server-client/app-paths.ts";
import type { Tracing } from "../tracing/open-tracing.ts";
import { readWebUiFiles } from "../web-ui/handlers.ts";

/** Node's fetch times out after five minutes without response headers. */
const earlyHeadMilliseconds = 240_000;

const cleanUpIntervalMilliseconds = 6 * 3_600_000;

export type ServeDependencies = {
  readonly driver: EngineDriver;
  readonly logger: HearthLogger;
  /** Prints one line on standard output. */
  readonly print: (line: string) => void;
  /** Aborts when the server must stop. */
  readonly signal: AbortSignal;
  /** One message for each sandbox protection that this machine lacks. */
  readonly missingProtections: readonly string[];
};

export async function serve(config: ServeConfig, dependencies: ServeDependencies): Promise<void> {
  const { driver, logger, print, signal, missingProtections } = dependencies;
  await using accounting = await openStoredKeys(config, logger);
  const access = await openAccess(config, accounting);
  const served = await readServedCertificate(config);
  const stores = await openStores(config.models);
  const local = createCatalog(stores);
  const remote = await readEnginesFile(config.enginesFile);
  await using engines = openRemoteEngines(remote);
  const aliases = createAliasStore(stores);
  const models = openModels(config, withRemoteModels(local, remote, engines.getEngineInfo), aliases);
  logWarnings(logger, { missingProtections, shadowed: await shadowedNames(local, remote) });
  await using outbound = createOutbound({ privateHosts: config.privateRegistries });
  const transfers = guardRemoteModels(await openTransfers(config, { stores, outbound }), remote);
  const scheduler = createScheduler({
    driver: engines.extendDriver(driver),
    ...schedulerOptions(config),
    onEvent: (event) => reportEvent(event, { metrics, models, logger, print }),
  });
  const metrics = createMetrics(scheduler, {
    names: () => modelNamesByDigest(models),
    pools: () => engines.snapshots(),
  });
  await using images = openImageFetcher(config);
  await using documents = openPdfReader();
  const responses = await openResponses(config, logger);
  await using tracing = await openConfiguredTracing(config, logger);
  const server = createModelServer({
    models,
    aliases,
    transfers,
    scheduler,
    metrics,
    logger,
    access,
    ...(accounting && { guardRoute: accounting.guardRoute, ledger: accounting.ledger }),
    webUiFiles: await readWebUiFiles(),
    fetchImage: images.fetchImage,
    readPdf: documents.readPdf,
    isDraining: () => signal.aborted,
    ...(responses && { responses }),
    ...(tracing && { tracing }),
    batchLimits: readBatchLimits(config),
    transport: readTransport(config, served?.certificate),
  });
  using stack = new DisposableStack();
  stack.use(cleanUpRepeatedly(stores, responses));
  if (served !== undefined) stack.use(watchServedCertificate(server, served, logger));
  await serveUntil(server, config, {
    signal,
    drainSeconds: config.drainSeconds,
    onListening: (url) => {
      logger.info("Listening", { url });
      print(`Hearth is listening on ${url}`);
    },
    onClosing: (graceSeconds) =>
      config.drainSeconds > 0 ? drainScheduler(scheduler, graceSeconds) : scheduler.close(graceSeconds),
  });
  logger.info("Stopped");
}

/** Process listings show flags, which may contain the key or a password. */
function hideFlags({ apiKey, keysDatabase }: ServeConfig): void {
  if (apiKey !== undefined || keysDatabase !== undefined) process.title = "hearth serve";
}

function openModels({ noRemote, seed }: ServeConfig, all: Catalog, aliases: AliasStore): Catalog {
  return withDefaultSeed(withAliases(noRemote ? refuseRemoteModels(all) : all, aliases), seed);
}

function readTransport(
  { trustedProxies, earlyHeaders }: ServeConfig,
  certificate: Certificate | undefined,
): Transport {
  return {
    trustedProxies,
    ...(certificate === undefined ? {} : { certificate }),
    ...(earlyHeaders ? { earlyHeadMilliseconds } : {}),
  };
}

/** At the start and then a few times a day. An unreadable store is reported where it is used. */
function cleanUpRepeatedly(stores: ModelStores, responses: ResponseStore | undefined): Disposable {
  const cleanUp = (): void => {
    void removeOldUploads(stores).catch(() => undefined);
    void responses?.deleteIdle().catch(() => undefined);
  };
  cleanUp();
  const timer = setInterval(cleanUp, cleanUpIntervalMilliseconds);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

type Warnings = { readonly missingProtections: readonly string[]; readonly shadowed: readonly string[] };

function logWarnings(logger: HearthLogger, { missingProtections, shadowed }: Warnings): void {
  for (const protection of missingProtections) logger.warn("Sandbox protection missing", { protection });
  for (const model of shadowed) logger.warn("Local model is shadowed by a remote engine", { model });
}

type Reporting = Pick<ServeDependencies, "logger" | "print"> & {
  readonly models: Catalog;
  readonly metrics: Metrics;
};

function reportEvent(event: SchedulingEvent, reporting: Reporting): void {
  reporting.metrics.countScheduling(event);
  if (event.type === "model-loaded") void reportLoaded(event, reporting);
}

/** Tells the person at the terminal what protects the machine from this model. */
async function reportLoaded(
  { key, protection, loadMilliseconds }: Extract<SchedulingEvent, { type: "model-loaded" }>,
  { models, logger, print }: Reporting,
): Promise<void> {
  // A model that was deleted while it was loading has no name any more.
  const names = await modelNamesByDigest(models).catch(() => new Map<string, string>());
  const model = names.get(key) ?? key;
  const durationMilliseconds = Math.round(loadMilliseconds);
  const known = protection === undefined ? {} : { protection };
  logger.info("Model loaded", { model, durationMilliseconds, ...known });
  if (protection !== undefined) print(`Loaded ${model}: ${protection}`);
}

/** Metrics are labelled with model names rather than digests. */
async function modelNamesByDigest(models: Catalog): Promise<ReadonlyMap<string, string>> {
  const listing = await models.list();
  const named = listing.models.filter(({ aliasOf }) => aliasOf === undefined);
  return new Map(named.map(({ digest, name }) => [digest, name]));
}

async function openAccess(config: ServeConfig, accounting: Accounting | undefined): Promise<Access> {
  const configured = await readAccess({ ...config, machineName: hostname() });
  const access = accounting === undefined ? configured : { ...configured, storedKeys: accounting.storedKeys };
  rejectInsecureBind(config, access);
  return access;
}

function rejectInsecureBind({ host, allowInsecureBind }: ServeConfig, access: Access): void {
  if (isLoopbackAddress(host) || requiresKey(access) || allowInsecureBind) return;
  throw new FailureError<CommandFailure>({ kind: "insecure-bind", host });
}

/** Loaded only where keys are in a database. */
async function openStoredKeys(config: ServeConfig, logger: HearthLogger): Promise<Accounting | undefined> {
  hideFlags(config);
  const { keys: defaultFile } = appPaths();
  const database = config.keysDatabase?.reveal();
  if (database === undefined && !existsSync(defaultFile)) return undefined;
  const { openKeyStore } = await import("../key-store/open-key-store.ts");
  const { openAccounting } = await import("../accounting/open-accounting.ts");
  const { usageRetention } = config;
  const retention = usageRetention === "forever" ? {} : { usageRetentionMilliseconds: 1000 * usageRetention };
  const store = await openKeyStore({ database, defaultFile }, retention);
  return openAccounting(store, () => logger.warn("Key database failed"));
}

/** For every load; what is not set is left to the engine. */
export function readLoadSettings(config: ServeConfig): LoadSettings {
  const { threads, gpuLayers, batchSize, kvCacheType, flashAttention, speculation } = config;
  return {
    speculation,
    ...(threads === 0 ? {} : { threads }),
    ...(gpuLayers === undefined ? {} : { gpuLayers }),
    ...(batchSize === undefined ? {} : { batchTokens: batchSize }),
    ...(kvCacheType === "auto" ? {} : { cacheType: kvCacheType }),
    ...(flashAttention === "auto" ? {} : { flashAttention: flashAttention === "on" }),
  };
}

function schedulerOptions(config: ServeConfig): Pick<SchedulerOptions, "limits" | "loadSettings"> {
  const { contextLength, parallelRequests, maxQueue, maxQueueTotal, keepAlive, memoryBudget } = config;
  return {
    loadSettings: readLoadSettings(config),
    limits: {
      contextTokens: contextLength,
      sequences: parallelRequests,
      maxQueuedPerModel: maxQueue,
      maxQueuedTotal: maxQueueTotal,
      keepAlive,
      ...(memoryBudget === undefined ? {} : { memoryBudgetBytes: memoryBudget }),
    },
  };
}

async function openTransfers(
  { dockerConfig, hubToken, pullRateLimit }: ServeConfig,
  dependencies: { readonly stores: ModelStores; readonly outbound: Outbound },
): Promise<Transfers> {
  const credentials = await readCredentials({
    dockerConfig,
    ...(hubToken === undefined ? {} : { hubToken: hubToken.reveal() }),
  });
  return createTransfers({
    ...dependencies,
    credentials,
    ...(pullRateLimit === undefined ? {} : { limits: { maxBytesPerSecond: pullRateLimit } }),
  });
}

/** Uses a separate outbound client: registries may be at private addresses, image hosts never. */
function openImageFetcher({
  imageHosts,
}: ServeConfig): AsyncDisposable & { readonly fetchImage?: FetchImage } {
  const outbound = createOutbound({ privateHosts: [] });
  return {
    ...(imageHosts.length === 0 ? {} : { fetchImage: createImageFetcher({ hosts: imageHosts, outbound }) }),
    [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose](),
  };
}

function readBatchLimits({ maxBatches, batchMemory, batchMemoryTotal }: ServeConfig): Partial<BatchLimits> {
  return {
    maxBatches,
    ...(batchMemory === undefined ? {} : { maxBytes: batchMemory }),
    ...(batchMemoryTotal === undefined ? {} : { maxTotalBytes: batchMemoryTotal }),
  };
}

const failureLogMilliseconds = 60_000;

/** Loaded only if it is configured: nothing else uses the SDK. */
async function openConfiguredTracing(
  { otlpEndpoint: endpoint, host, port }: ServeConfig,
  logger: HearthLogger,
): Promise<(Tracing & AsyncDisposable) | undefined> {
  if (endpoint === undefined) return undefined;
  const { openTracing } = await import("../tracing/open-tracing.ts");
  let loggedAt = Number.NEGATIVE_INFINITY;
  const onFailure = (): void => {
    if (performance.now() - loggedAt < failureLogMilliseconds) return;
    loggedAt = performance.now();
    logger.warn("Traces cannot be exported");
  };
  return openTracing({ endpoint, host, port, onFailure });
}

const mebibyte = 1024 * 1024;

async function openResponses(config: ServeConfig, logger: HearthLogger): Promise<ResponseStore | undefined> {
  const { maxStoredResponses, responseMemory, responseMemoryTotal, responseIdle, responseFolder } = config;
  if (maxStoredResponses === 0) return undefined;
  const limits: StoreLimits = {
    maxResponses: maxStoredResponses,
    maxBytes: responseMemory ?? 64 * mebibyte,
    maxTotalBytes: responseMemoryTotal ?? 256 * mebibyte,
    idleSeconds: responseIdle === "forever" ? Number.POSITIVE_INFINITY : responseIdle,
  };
  if (responseFolder === undefined) return new ResponseStore(limits);
  const folder = responseFolder.replace(/^~(?=\/)/u, homedir());
  try {
    return await openResponseStore(limits, {
      folder,
      keyFile: appPaths().responseKey,
      onSkip: (file) => logger.warn("Stored response cannot be read", { file }),
    });
  } catch (error) {
    const cause = error instanceof FailureError ? error.cause : error;
    const reason = explainFolderError(cause);
    if (reason === undefined) throw error;
    throw new FailureError<CommandFailure>({ kind: "response-folder-unusable", folder, reason }, { cause });
  }
}
