/**
 * @module
 * The commands of the command line, one per file. Each takes its settings and dependencies and returns when done;
 * expected errors are thrown as a Failure, which `main.ts` turns into a message and an exit code.
 * Imported by `serve-command.ts` only.
 */

import { setFlagsFromString } from "node:v8";
import { readServedCertificate, watchServedCertificate } from "@hearth-and-keep/command-line";
import { FailureError } from "@hearth-and-keep/failures";
import { readWebFiles, serveUntil } from "@hearth-and-keep/http-service";
import { createOutbound } from "@hearth-and-keep/outbound-http";
import type { AccessDependencies } from "../access/authenticate.ts";
import { createRateLimits } from "../access/rate-limits.ts";
import { createStoredCredentials } from "../access/stored-credentials.ts";
import { createAuditLog } from "../audit/audit-log.ts";
import { auditOrigin, openNodeLog } from "../audit/node-log.ts";
import { createPartitions } from "../audit/queries.ts";
import { type BackgroundDependencies, startBackground } from "../background.ts";
import { type Node, startNode } from "../cluster/start-node.ts";
import type { ServeConfig } from "../config.ts";
import { consoleFolders, consolePolicy } from "../console/console-files.ts";
import type { Database, DatabaseAddresses } from "../database/open-database.ts";
import type { KeepDependencies } from "../dependencies.ts";
import type { Failure } from "../failures.ts";
import { findVaultRoute } from "../grants/queries.ts";
import type { ReadinessCheck } from "../health.ts";
import { checkKey } from "../keys/check-key.ts";
import { openKeys } from "../keys/custody/open-keys.ts";
import type { KeyWrapper } from "../keys/key-wrapper.ts";
import { countRunningOperations } from "../keys/queries.ts";
import { canUnwrapServerKeys, openServerKeys } from "../keys/server-keys.ts";
import { createVaultHeads } from "../keys/vault-heads/vault-heads.ts";
import { createVaultKeys } from "../keys/vault-keys.ts";
import type { MembershipSource } from "../memberships/check-memberships.ts";
import { openMembershipSource } from "../memberships/open-membership-source.ts";
import { readSecondsSinceCheck } from "../memberships/queries.ts";
import { createMetrics, type Metrics } from "../metrics.ts";
import { createMetricsService } from "../openapi/http.ts";
import { issueOperatorCode } from "../operators/first-operator.ts";
import { createAccessFinder, createOwnerAccess } from "../organisations/member-access.ts";
import { createVaultServer, type KeepLogger } from "../server.ts";
import { assertDevelopmentDatabase } from "../sign-in/development-sign-in.ts";
import { listProviderOrigins } from "../sign-in/identity-provider.ts";
import { prepareSignIn, type SignIn } from "../sign-in/prepare-sign-in.ts";
import { checkSession } from "../sign-in/sessions.ts";
import { createTokenCheck } from "../tokens/check-token.ts";
import { createLastUsed, type LastUsed } from "../tokens/last-used.ts";
import { createChangeQueue } from "../vaults/change-queue.ts";
import { createRefusalRecorder } from "../workload/attempts.ts";
import { createIssuerKeys } from "../workload/issuer-keys.ts";

/** As usual; `bin/keep.js` kept it small during the start. */
const youngGenerationGrowth = "--semi-space-growth-factor=2";

const developmentWarning =
  "DEVELOPMENT SIGN-IN: everyone who can open this address signs in under any name. Do not store real secrets here.";

const membershipsUnchecked =
  "Memberships that end are noticed only at the next sign-in; set KEEP_CODE_HOSTING_MEMBERSHIP_TOKEN_FILE to check them every few minutes";

type ReadinessCheckOf = (database: Database) => ReturnType<ReadinessCheck>;

export type ServeDependencies = {
  readonly logger: KeepLogger;
  readonly openDatabase: (addresses: DatabaseAddresses) => Promise<Database>;
  readonly checkDatabaseReadiness: ReadinessCheckOf;
  /** Prints a line to standard output. */
  readonly print: (line: string) => void;
  /** Aborted to shut the server down. */
  readonly signal: AbortSignal;
  /** Between checks of memberships, instead of the setting; for tests. */
  readonly membershipCheckMilliseconds?: number | undefined;
};

export async function serve(config: ServeConfig, dependencies: ServeDependencies): Promise<void> {
  const { logger, signal } = dependencies;
  if (config.databaseUrl === undefined) throw new FailureError<Failure>({ kind: "database-not-set" });
  const wrapper = await openKeys(config);
  const tls = await readServedCertificate(config);
  await using outbound = new AsyncDisposableStack();
  const openOutbound = (privateHosts: readonly string[]) => outbound.use(createOutbound({ privateHosts }));
  const signIn = await prepareSignIn(config, {
    scheme: tls === undefined ? "http" : "https",
    outbound: openOutbound,
  });
  const membershipSource = await openMembershipSource(config, openOutbound);
  await using database = await openServedDatabase(config.databaseUrl, config, dependencies);
  if (signIn.isDevelopment) await assertDevelopmentDatabase(database);
  await using services = await openServices(config, { database, wrapper, logger });
  const { metrics } = services;
  await using node = await startNode(database);
  evictVaultKeys(services, node);
  await using lastUsed = createLastUsed(database, node.invalidation.databaseNow);
  const access = createAccess(config, { ...services, logger, signIn, node, lastUsed });
  const server = createVaultServer({
    ...services,
    logger,
    signIn,
    access,
    findAccess: access.findAccess,
    ...createWorkloadServices(config, services, outbound),
    tokenLifetimeDays: config.tokenLifetimeDays,
    console: await prepareConsole(signIn),
    readinessChecks: createReadinessChecks({ ...services, ...dependencies, node }),
    transport: {
      trustedProxies: config.trustedProxies,
      ...(tls === undefined ? {} : { certificate: tls.certificate }),
    },
  });
  const printOperatorCode = await prepareOperatorCode(signIn, services, dependencies.print);
  await using background = new AsyncDisposableStack();
  const checks = prepareMembershipChecks(config, { membershipSource, signIn, node, metrics }, dependencies);
  const onCheckpointFileFailed = metrics.countCheckpointFailure;
  background.use(
    startBackground(config, { ...services, logger, onCheckpointFileFailed, memberships: checks }),
  );
  if (tls !== undefined) background.use(watchServedCertificate(server, tls, logger));
  watchGauges(services, { node, membershipSource });
  background.use(await serveMetrics(config, metrics, dependencies.print));
  await serveUntil(server, config, {
    signal,
    onListening: (url) => {
      signIn.setListenUrl(url);
      // Starts discovery early, because the console's policy lists the providers' origins.
      for (const provider of signIn.providers.values()) void provider.prepare();
      logger.info("Listening", { url });
      announce(url, { ...signIn, membershipSource }, dependencies);
      printOperatorCode();
      setFlagsFromString(youngGenerationGrowth);
    },
  });
  logger.info("Stopped");
}

async function openServedDatabase(
  databaseUrl: NonNullable<ServeConfig["databaseUrl"]>,
  { migrationDatabaseUrl }: ServeConfig,
  { logger, openDatabase }: ServeDependencies,
): Promise<Database> {
  const database = await openDatabase({
    url: databaseUrl.reveal(),
    migrationUrl: migrationDatabaseUrl?.reveal(),
  });
  logger.info("Database ready", database.migrations);
  return database;
}

function evictVaultKeys({ vaultKeys }: Pick<Services, "vaultKeys">, { invalidation }: Node): void {
  invalidation.onInvalidate("vault", {
    one: (vaultId) => vaultKeys.evict(vaultId),
    all: () => vaultKeys.evict(),
  });
}

type Announced = Pick<SignIn, "isDevelopment" | "admission"> & Pick<CheckSources, "membershipSource">;

function announce(
  url: string,
  { isDevelopment, admission, membershipSource }: Announced,
  { logger, print }: Pick<ServeDependencies, "logger" | "print">,
): void {
  print(`Keep is listening on ${url}`);
  if (admission.organizations.length > 0 && membershipSource === undefined) print(membershipsUnchecked);
  if (!isDevelopment) return;
  logger.warn("Development sign-in is on");
  print(developmentWarning);
}

type CheckSources = {
  /** Absent without a token for checks. */
  readonly membershipSource: MembershipSource | undefined;
  readonly signIn: Pick<SignIn, "admission">;
  readonly node: Node;
  readonly metrics: Metrics;
};

function prepareMembershipChecks(
  { membershipCheckMinutes }: ServeConfig,
  { membershipSource, signIn, node, metrics }: CheckSources,
  { membershipCheckMilliseconds = membershipCheckMinutes * 60_000 }: ServeDependencies,
): BackgroundDependencies["memberships"] {
  if (membershipSource === undefined) return undefined;
  return {
    source: membershipSource,
    admission: signIn.admission,
    intervalMilliseconds: membershipCheckMilliseconds,
    now: node.invalidation.databaseNow,
    countCheck: metrics.countMembershipCheck,
  };
}

async function prepareConsole({ providers }: SignIn): Promise<KeepDependencies["console"]> {
  return {
    files: await readWebFiles(consoleFolders),
    policy: () => consolePolicy(listProviderOrigins(providers)),
  };
}

/** Returns what prints the code for the first operator, once the public URL is known. */
async function prepareOperatorCode(
  signIn: SignIn,
  services: Pick<Services, "database" | "serverKeys">,
  print: (line: string) => void,
): Promise<() => void> {
  // Entering a code requires a provider, and operators that settings name make it unnecessary.
  const isNeeded = signIn.providers.size > 0 && signIn.admission.operators.size === 0;
  const code = isNeeded ? await issueOperatorCode(services) : undefined;
  return () => {
    if (code === undefined) return;
    const page = new URL("/operator", signIn.publicUrl).href;
    print(
      `There is no operator yet. To become the first one, sign in and enter the code ${code} at ${page} within 24 hours`,
    );
  };
}

/** Services created from the database and the key-encryption key. */
type Services = Pick<
  KeepDependencies,
  "database" | "vaultKeys" | "vaultHeads" | "changeQueue" | "serverKeys" | "audit" | "nodeLog" | "metrics"
> & {
  readonly wrapper: KeyWrapper;
};

type ServiceSources = Pick<Services, "database" | "wrapper"> & { readonly logger: KeepLogger };

/** Disposing releases the node's audit log. */
async function openServices(
  config: Pick<ServeConfig, "publicUrl">,
  { database, wrapper: given, logger }: ServiceSources,
): Promise<Services & AsyncDisposable> {
  const wrapper = await checkKey(given, database);
  const { fingerprint } = wrapper;
  logger.info("Encryption key accepted", { fingerprint });
  if (fingerprint !== given.fingerprint) {
    logger.warn("The first encryption key was replaced; put the active one first", { fingerprint });
  }
  const metrics = createMetrics();
  const serverKeys = await openServerKeys(database, wrapper);
  await createPartitions(database);
  const nodeLog = await openNodeLog({ database, serverKeys, originPrefix: auditOrigin(config) });
  const { rowMacs } = serverKeys;
  const observer = { onBatch: metrics.countAuditBatch, onValuesRead: metrics.countValuesRead };
  const stored = {
    database,
    vaultKeys: createVaultKeys(database, wrapper),
    vaultHeads: createVaultHeads(database, serverKeys.headSeal),
    audit: createAuditLog({ database, rowMacs, nodeLog, observer }),
    nodeLog,
  };
  const changeQueue = createChangeQueue(stored);
  const close = () => nodeLog[Symbol.asyncDispose]();
  return { ...stored, wrapper, metrics, serverKeys, changeQueue, [Symbol.asyncDispose]: close };
}

function createWorkloadServices(
  { privateIssuers }: Pick<ServeConfig, "privateIssuers">,
  { database, audit }: Pick<Services, "database" | "audit">,
  owned: AsyncDisposableStack,
): Pick<KeepDependencies, "issuerKeys" | "recordRefusal"> {
  const outbound = owned.use(createOutbound({ privateHosts: privateIssuers }));
  return { issuerKeys: createIssuerKeys(outbound), recordRefusal: createRefusalRecorder(database, audit) };
}

type AccessSources = Pick<Services, "database" | "metrics" | "serverKeys"> & {
  readonly logger: KeepLogger;
  readonly signIn: SignIn;
  readonly node: Node;
  readonly lastUsed: LastUsed;
};

function createAccess(config: ServeConfig, sources: AccessSources): AccessDependencies {
  const { database, metrics, serverKeys, logger, signIn, node, lastUsed } = sources;
  const memberSources = {
    database,
    serverKeys,
    onIntegrityError: (account: string) =>
      logger.error("Stored membership or grants failed their integrity check", { account }),
  };
  const findAccess = createAccessFinder(memberSources);
  return {
    get publicUrl() {
      return signIn.publicUrl;
    },
    sessionCookie: signIn.sessionCookie,
    limits: createRateLimits({ ...config, liveNodes: node.liveNodes }),
    checkToken: createTokenCheck({
      database,
      invalidation: node.invalidation,
      rowMacs: serverKeys.rowMacs,
      findOwnerAccess: createOwnerAccess(node.invalidation, findAccess, memberSources),
      onIntegrityError: (account) => logger.error("Stored token failed its integrity check", { account }),
      recordUse: lastUsed.record,
      countCheck: metrics.countTokenCheck,
    }),
    isStored: createStoredCredentials(database),
    findAccess,
    findVaultRoute: (route) => findVaultRoute(database, route),
    checkSession: (text, address) =>
      checkSession(text, address, {
        database,
        serverKeys,
        limits: signIn.limits,
        onIntegrityError: (account) => logger.error("Stored session failed its integrity check", { account }),
      }),
  };
}

const keysUnreadable = "the encryption key does not decrypt the server's keys";
const listenerStale = "this node has not received revocations for more than 5 seconds";
const maxStaleMilliseconds = 5000;

type ReadinessSources = Pick<Services, "database" | "wrapper"> & {
  readonly node: Node;
  readonly checkDatabaseReadiness: ReadinessCheckOf;
};

function createReadinessChecks(sources: ReadinessSources): readonly ReadinessCheck[] {
  const { database, wrapper, node, checkDatabaseReadiness } = sources;
  return [
    () => checkDatabaseReadiness(database),
    async () => ((await canUnwrapServerKeys(database, wrapper)) ? undefined : keysUnreadable),
    async () => (node.staleMilliseconds() <= maxStaleMilliseconds ? undefined : listenerStale),
  ];
}

function watchGauges(
  { metrics, database, vaultKeys }: Services,
  { node, membershipSource }: Pick<CheckSources, "node" | "membershipSource">,
): void {
  metrics.watch({
    database_connections_in_use: () => database.connections().inUse,
    database_connections_idle: () => database.connections().idle,
    database_requests_waiting: () => database.connections().waiting,
    data_keys_cached: () => vaultKeys.count(),
    revocation_poll_age_seconds: () => node.staleMilliseconds() / 1000,
    operations_running: () => countRunningOperations(database),
    resident_memory_bytes: () => process.memoryUsage.rss(),
  });
  if (membershipSource !== undefined)
    metrics.watch({ membership_check_age_seconds: () => readSecondsSinceCheck(database) });
}

/** Serves metrics on their own port until disposed. */
async function serveMetrics(
  { metricsHost, metricsPort }: ServeConfig,
  metrics: Metrics,
  print: (line: string) => void,
): Promise<AsyncDisposable> {
  const service = createMetricsService(metrics);
  const { url } = await service.listen({ host: metricsHost, port: metricsPort });
  print(`Metrics on ${url}/metrics`);
  return { [Symbol.asyncDispose]: () => service.close(1) };
}
