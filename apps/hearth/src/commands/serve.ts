/**
 * @module
 * The verbs of the command line, one per file. Each takes its settings and parts and ends by returning;
 * what goes wrong is thrown as a Failure, which `main.ts` turns into a sentence and an exit code.
 * Imported by `main.ts` only.
 */
import { hostname } from "node:os";
import { readServedCertificate, renewAsNeeded } from "@hearth-and-keep/command-line";
import type { EngineDriver } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { serveUntil } from "@hearth-and-keep/http-service";
import { createOutbound, type Outbound } from "@hearth-and-keep/outbound-http";
import type { Access } from "../access/admit.ts";
import { isLoopbackAddress } from "../access/loopback.ts";
import { readAccess } from "../access/read-access.ts";
import type { ServeConfig } from "../config.ts";
import { ResponseStore } from "../dialects/openai/responses/response-store.ts";
import type { CommandFailure } from "../failures.ts";
import { createImageFetcher, type FetchImage } from "../images/fetch-image.ts";
import { createMetrics } from "../metrics.ts";
import { type Catalog, createCatalog } from "../models/catalog.ts";
import { openStores } from "../models/open-stores.ts";
import { readCredentials } from "../models/registry/credentials.ts";
import { readEnginesFile } from "../models/remote/engines-file.ts";
import { coveredNames, withoutRemoteModels, withRemoteModels } from "../models/remote/remote-models.ts";
import type { ModelStores } from "../models/store/model-store.ts";
import { createTransfers } from "../models/transfers/create-transfers.ts";
import type { Transfers } from "../models/transfers/transfer.ts";
import { closeServed } from "../scheduling/drain-scheduler.ts";
import { openRemoteEngines } from "../scheduling/remote-engines.ts";
import { createScheduler, type SchedulerParts } from "../scheduling/scheduler.ts";
import { createModelServer, type HearthLogger } from "../server.ts";
import { readPageFiles } from "../web-ui/handlers.ts";

/** Clients on Node give up after five minutes without a head. */
const earlyHeadMilliseconds = 240_000;

export type ServeParts = {
  readonly driver: EngineDriver;
  readonly logger: HearthLogger;
  /** One line on standard output for the person or script that started us. */
  readonly print: (line: string) => void;
  /** Fires when the server is asked to end. */
  readonly signal: AbortSignal;
  /** One sentence for each wall around models that this machine lacks. */
  readonly missingProtections: readonly string[];
};

export async function serve(config: ServeConfig, parts: ServeParts): Promise<void> {
  const { driver, logger, print, signal } = parts;
  // A flag shows its key in every list of processes.
  if (config.apiKey !== undefined) process.title = "hearth serve";
  const access = await readAccess({ ...config, machineName: hostname() });
  refuseOpenBind(config, access);
  const served = await readServedCertificate(config);
  for (const protection of parts.missingProtections) logger.warn("Protection missing", { protection });
  const stores = await openStores(config.models);
  const local = createCatalog(stores);
  const remote = await readEnginesFile(config.enginesFile);
  await using engines = openRemoteEngines(remote);
  const models = withRemoteModels(local, remote, engines.learn);
  for (const model of await coveredNames(local, remote)) logger.warn("Model runs elsewhere", { model });
  await using outbound = createOutbound({ privateHosts: config.privateRegistries });
  const transfers = withoutRemoteModels(await transfersOf(config, { stores, outbound }), remote);
  const scheduler = createScheduler({
    driver: engines.beside(driver),
    ...schedulingOf(config),
    onEvent: (event) => metrics.countScheduling(event),
  });
  const metrics = createMetrics(scheduler, {
    names: () => namesOf(models),
    pools: () => engines.snapshots(),
  });
  await using images = imagesOf(config);
  const { trustedProxies, earlyHeaders } = config;
  const server = createModelServer({
    models,
    transfers,
    scheduler,
    metrics,
    logger,
    access,
    page: await readPageFiles(),
    fetchImage: images.fetchImage,
    isDraining: () => signal.aborted,
    ...responsesOf(config),
    transport: {
      trustedProxies,
      ...(served === undefined ? {} : { certificate: served.certificate }),
      ...(earlyHeaders ? { earlyHeadMilliseconds } : {}),
    },
  });
  using stack = new DisposableStack();
  if (served !== undefined) stack.use(renewAsNeeded(server, served, logger));
  await serveUntil(server, config, {
    signal,
    drainSeconds: config.drainSeconds,
    onListening: (url) => {
      logger.info("Listening", { url });
      print(`Hearth listens on ${url}`);
    },
    onClosing: (graceSeconds) =>
      config.drainSeconds > 0 ? closeServed(scheduler, graceSeconds) : scheduler.close(graceSeconds),
  });
  logger.info("Stopped");
}

/** The name of each digest, for people who look at figures. */
async function namesOf(models: Catalog): Promise<ReadonlyMap<string, string>> {
  const listing = await models.list();
  return new Map(listing.models.map(({ digest, name }) => [digest, name]));
}

function refuseOpenBind({ host, allowInsecureBind }: ServeConfig, { keys }: Access): void {
  if (isLoopbackAddress(host) || keys.length > 0 || allowInsecureBind) return;
  throw new FailureError<CommandFailure>({ kind: "insecure-bind", host });
}

function schedulingOf(config: ServeConfig): Pick<SchedulerParts, "limits" | "loadSettings"> {
  const { contextLength, parallelRequests, waitingLine, waitingInAll, keepAlive, memoryBudget } = config;
  return {
    loadSettings: config.threads === 0 ? {} : { threads: config.threads },
    limits: {
      contextTokens: contextLength,
      sequences: parallelRequests,
      waitingLine,
      waitingInAll,
      keepAlive,
      ...(memoryBudget === undefined ? {} : { memoryBudgetBytes: memoryBudget }),
    },
  };
}

async function transfersOf(
  { dockerConfig, hubToken, pullRate }: ServeConfig,
  parts: { readonly stores: ModelStores; readonly outbound: Outbound },
): Promise<Transfers> {
  const credentials = await readCredentials({
    dockerConfig,
    ...(hubToken === undefined ? {} : { hubToken: hubToken.reveal() }),
  });
  return createTransfers({
    ...parts,
    credentials,
    ...(pullRate === undefined ? {} : { limits: { bytesPerSecond: pullRate } }),
  });
}

/** A client of its own: registries may be at private addresses, and hosts of images never are. */
function imagesOf({ imageHosts }: ServeConfig): AsyncDisposable & { readonly fetchImage?: FetchImage } {
  const outbound = createOutbound({ privateHosts: [] });
  return {
    ...(imageHosts.length === 0 ? {} : { fetchImage: createImageFetcher({ hosts: imageHosts, outbound }) }),
    [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose](),
  };
}

const mostResponseBytes = 64 * 1024 * 1024;

function responsesOf({ keepResponses }: ServeConfig): { readonly responses?: ResponseStore } {
  if (keepResponses === 0) return {};
  return { responses: new ResponseStore({ mostResponses: keepResponses, mostBytes: mostResponseBytes }) };
}
