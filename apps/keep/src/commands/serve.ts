/**
 * @module
 * The verbs of the command line, one per file. Each takes its settings and parts and ends by returning;
 * what goes wrong is thrown as a Failure, which `main.ts` turns into a sentence and an exit code.
 * Imported by `main.ts` only.
 */

import { readServedCertificate, watchServedCertificate } from "@hearth-and-keep/command-line";
import { FailureError } from "@hearth-and-keep/failures";
import { readWebFiles, serveUntil } from "@hearth-and-keep/http-service";
import { createOutbound } from "@hearth-and-keep/outbound-http";
import type { AccessDependencies } from "../access/authenticate.ts";
import { createRateLimits } from "../access/rate-limits.ts";
import { createAuditLog } from "../audit/audit-log.ts";
import { countReads } from "../audit/count-reads.ts";
import { startBackground } from "../background.ts";
import { type Node, startNode } from "../cluster/start-node.ts";
import type { ServeConfig } from "../config.ts";
import { consoleFolders, policyOfPage } from "../console/console-files.ts";
import type { Database, DatabaseAddresses } from "../database/open-database.ts";
import type { KeepDependencies } from "../dependencies.ts";
import type { Failure } from "../failures.ts";
import type { ReadinessCheck } from "../health.ts";
import { checkKey } from "../keys/check-key.ts";
import { readKeys } from "../keys/key-encryption-key.ts";
import type { KeyWrapper } from "../keys/key-wrapper.ts";
import { countRunningOperations } from "../keys/queries.ts";
import { openServerKeys, opensServerKeys } from "../keys/server-keys.ts";
import { createVaultKeys } from "../keys/vault-keys.ts";
import { createMetrics, type Metrics } from "../metrics.ts";
import { createMetricsService } from "../openapi/http.ts";
import { createVaultServer, type KeepLogger } from "../server.ts";
import { originsOf } from "../sign-in/identity-provider.ts";
import { prepareSignIn, type SignIn } from "../sign-in/prepare-sign-in.ts";
import { checkSession } from "../sign-in/sessions.ts";
import { createTokenCheck } from "../tokens/check-token.ts";
import { createLastUsed, type LastUsed } from "../tokens/last-used.ts";

type ReadinessCheckOf = (database: Database) => ReturnType<ReadinessCheck>;

export type ServeDependencies = {
  readonly logger: KeepLogger;
  readonly openDatabase: (addresses: DatabaseAddresses) => Promise<Database>;
  readonly whyNotReady: ReadinessCheckOf;
  /** One line on standard output for the person or script that started us. */
  readonly print: (line: string) => void;
  /** Fires when the server is asked to end. */
  readonly signal: AbortSignal;
};

export async function serve(config: ServeConfig, parts: ServeDependencies): Promise<void> {
  const { logger, signal } = parts;
  const { databaseUrl } = config;
  if (databaseUrl === undefined) throw new FailureError<Failure>({ kind: "database-not-set" });
  const wrapper = readKeys(config.encryptionKey);
  const served = await readServedCertificate(config);
  await using outbound = new AsyncDisposableStack();
  const signIn = prepareSignIn(config, {
    scheme: served === undefined ? "http" : "https",
    outbound: (privateHosts) => outbound.use(createOutbound({ privateHosts })),
  });
  await using database = await parts.openDatabase({
    url: databaseUrl.reveal(),
    migrationUrl: config.migrationDatabaseUrl?.reveal(),
  });
  logger.info("Database ready", database.migrations);
  const held = await openHeld(database, wrapper, logger);
  const { metrics } = held;
  await using node = await startNode(database);
  node.forgetting.onForget("vault", {
    one: (vaultId) => held.vaultKeys.forget(vaultId),
    all: () => held.vaultKeys.forget(),
  });
  await using lastUsed = createLastUsed(database, () => node.forgetting.databaseNow());
  const access = accessOf(config, { ...held, signIn, node, lastUsed });
  const server = createVaultServer({
    ...held,
    logger,
    signIn,
    access,
    console: {
      files: await readWebFiles(consoleFolders),
      policy: () => policyOfPage(originsOf(signIn.providers)),
    },
    readinessChecks: readinessChecksOf({ ...held, node, whyNotReady: parts.whyNotReady }),
    transport: {
      trustedProxies: config.trustedProxies,
      ...(served === undefined ? {} : { certificate: served.certificate }),
    },
  });
  await using ending = new AsyncDisposableStack();
  ending.use(
    startBackground(config, { ...held, logger, onCheckpointFileFailed: metrics.countCheckpointFailure }),
  );
  if (served !== undefined) ending.use(watchServedCertificate(server, served, logger));
  watchGauges(held, node);
  ending.use(await showMetrics(config, metrics, parts.print));
  await serveUntil(server, config, {
    signal,
    onListening: (url) => {
      signIn.listensAt(url);
      // The console's page says where its forms may lead, so that is found out before somebody asks for it.
      for (const provider of signIn.providers.values()) void provider.prepare();
      logger.info("Listening", { url });
      parts.print(`Keep is listening on ${url}`);
    },
  });
  logger.info("Stopped");
}

/** What is made from the database and the key that opens it. */
type Held = Pick<KeepDependencies, "database" | "vaultKeys" | "serverKeys" | "audit" | "metrics"> & {
  readonly wrapper: KeyWrapper;
};

async function openHeld(database: Database, wrapper: KeyWrapper, logger: KeepLogger): Promise<Held> {
  await checkKey(wrapper, database);
  logger.info("Encryption key accepted", { fingerprint: wrapper.fingerprint });
  const metrics = createMetrics();
  return {
    database,
    wrapper,
    metrics,
    vaultKeys: createVaultKeys(database, wrapper),
    serverKeys: await openServerKeys(database, wrapper),
    audit: countReads(createAuditLog(database, metrics.countAuditBatch), metrics.countValuesRead),
  };
}

type AccessSources = Pick<Held, "database" | "metrics"> & {
  readonly signIn: SignIn;
  readonly node: Node;
  readonly lastUsed: LastUsed;
};

function accessOf(config: ServeConfig, sources: AccessSources): AccessDependencies {
  const { database, metrics, signIn, node, lastUsed } = sources;
  return {
    get publicUrl() {
      return signIn.publicUrl;
    },
    sessionCookie: signIn.sessionCookie,
    limits: createRateLimits({ ...config, liveNodes: () => node.liveNodes() }),
    checkToken: createTokenCheck({
      database,
      invalidation: node.forgetting,
      recordUse: (actor) => lastUsed.record(actor),
      countCheck: metrics.countTokenCheck,
    }),
    checkSession: (text, address) => checkSession(text, address, { database, limits: signIn.limits }),
  };
}

const keysStayClosed = "the encryption key does not open the server's keys";
const nodeIsDeaf = "this node has not learned for more than five seconds what was revoked";
const mostDeafMilliseconds = 5000;

type ReadinessSources = Pick<Held, "database" | "wrapper"> & {
  readonly node: Node;
  readonly whyNotReady: ReadinessCheckOf;
};

function readinessChecksOf(sources: ReadinessSources): readonly ReadinessCheck[] {
  const { database, wrapper, node, whyNotReady } = sources;
  return [
    () => whyNotReady(database),
    async () => ((await opensServerKeys(database, wrapper)) ? undefined : keysStayClosed),
    async () => (node.deafMilliseconds() <= mostDeafMilliseconds ? undefined : nodeIsDeaf),
  ];
}

function watchGauges({ metrics, database, vaultKeys }: Held, node: Node): void {
  metrics.watch({
    database_connections_in_use: () => database.connections().inUse,
    database_connections_idle: () => database.connections().idle,
    database_requests_waiting: () => database.connections().waiting,
    data_keys_remembered: () => vaultKeys.count(),
    revocation_poll_age_seconds: () => node.deafMilliseconds() / 1000,
    operations_running: () => countRunningOperations(database),
    resident_memory_bytes: () => process.memoryUsage.rss(),
  });
}

/** On their own port until disposed of. */
async function showMetrics(
  { host, metricsPort }: ServeConfig,
  metrics: Metrics,
  print: (line: string) => void,
): Promise<AsyncDisposable> {
  const service = createMetricsService(metrics);
  const { url } = await service.listen({ host, port: metricsPort });
  print(`Metrics on ${url}/metrics`);
  return { [Symbol.asyncDispose]: () => service.close(1) };
}
