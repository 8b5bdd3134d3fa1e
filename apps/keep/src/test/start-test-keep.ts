/**
 * @module
 * A complete Keep for tests: the real server on a real database, with helpers that add people and tokens. Nothing is
 * mocked: the helpers call Keep's own use cases or insert rows as Keep writes them.
 * Imported by tests only.
 */
import { readSettings } from "@hearth-and-keep/configuration";
import { createLogger, type LogLevel } from "@hearth-and-keep/logging";
import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { findOrCreateAccount } from "../accounts/find-or-create-account.ts";
import { createAuditLog } from "../audit/audit-log.ts";
import { openNodeLog } from "../audit/node-log.ts";
import type { Scope } from "../authorization/scopes.ts";
import { serve } from "../commands/serve.ts";
import { type ServeConfig, serveSettings } from "../config.ts";
import { type Database, openDatabase } from "../database/open-database.ts";
import { checkDatabaseReadiness } from "../database/queries.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { generateId } from "../generate-id.ts";
import { openKeys } from "../keys/custody/open-keys.ts";
import { generateKeyText } from "../keys/key-encryption-key.ts";
import { lockEpoch } from "../keys/row-integrity/account-epoch.ts";
import { openServerKeys } from "../keys/server-keys.ts";
import { createVaultHeads } from "../keys/vault-heads/vault-heads.ts";
import { createVaultKeys } from "../keys/vault-keys.ts";
import { logFields } from "../server.ts";
import { signToken, type TokenDependencies } from "../tokens/create-token.ts";
import { insertToken } from "../tokens/queries.ts";
import { generateToken, hashToken } from "../tokens/token-format.ts";
import { createChangeQueue } from "../vaults/change-queue.ts";

export type TestPerson = {
  readonly accountId: string;
  readonly identityId: string;
  readonly vaultId: string;
};

export type TestGrant = {
  readonly scopes: readonly Scope[];
  readonly vaultIds?: readonly string[];
  readonly paths?: readonly string[];
  readonly addresses?: readonly string[];
  readonly expiresAt?: Date;
};

export type TestRequest = {
  readonly method?: string;
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

type TestServices = Pick<
  KeepDependencies,
  "database" | "vaultKeys" | "vaultHeads" | "changeQueue" | "audit" | "nodeLog" | "serverKeys"
>;

export type TestKeep = AsyncDisposable & {
  readonly url: string;
  readonly metricsUrl: string;
  /** With Keep's own database role. */
  readonly database: Database;
  /** With a superuser login. */
  readonly databaseUrl: string;
  readonly key: string;
  /** Use cases take them; apart from those of the running server. */
  readonly services: TestServices;
  /** Lines on standard output when it listened. */
  readonly printed: readonly string[];
  /** Log lines so far, at debug level. */
  readonly logLines: readonly string[];
  /** A person's first sign-in, without a browser. */
  addPerson(subject?: string): Promise<TestPerson>;
  addToken(
    person: Pick<TestPerson, "accountId">,
    grant: TestGrant,
  ): Promise<{ readonly id: string; readonly text: string }>;
  request(path: string, options?: TestRequest): Promise<Response>;
};

export type TestKeepOptions = {
  /** Settings as strings, by name (`publicUrl`). */
  readonly settings?: Readonly<Record<string, string>>;
  /** An existing database, for several nodes on one database. */
  readonly databaseUrl?: string;
  readonly key?: string;
  readonly logLevel?: LogLevel;
  /** Between checks of memberships, instead of the setting. */
  readonly membershipCheckMilliseconds?: number | undefined;
};

const migrated = {
  name: "keep schema",
  prepare: async (url: string) => (await openDatabase({ url }))[Symbol.asyncDispose](),
};

export async function startTestKeep(options: TestKeepOptions = {}): Promise<TestKeep> {
  await using cleanup = new AsyncDisposableStack();
  const databaseUrl = options.databaseUrl ?? cleanup.use(await acquireDatabase(migrated)).url;
  const key = options.key ?? generateKeyText();
  const encryptionKey = options.settings?.["encryptionKeyCommand"] === undefined ? key : options.key;
  const settings = { databaseUrl, encryptionKey, port: "0", metricsPort: "0", ...options.settings };
  const config = readSettings(serveSettings, {
    prefix: "KEEP",
    flags: settings,
    environment: {},
    filePath: undefined,
  });
  const logLines: string[] = [];
  const { url, metricsUrl, printed } = await startServing(config, { ...options, logLines, cleanup });
  const migrationUrl = config.migrationDatabaseUrl?.reveal();
  const database = cleanup.use(await openDatabase({ url: databaseUrl, migrationUrl }));
  const wrapper = await openKeys(config);
  const serverKeys = await openServerKeys(database, wrapper);
  const nodeLog = cleanup.use(await openNodeLog({ database, serverKeys, originPrefix: "test/audit/" }));
  const stored = {
    database,
    vaultKeys: createVaultKeys(database, wrapper),
    vaultHeads: createVaultHeads(database, serverKeys.headSeal),
    audit: createAuditLog({ database, rowMacs: serverKeys.rowMacs, nodeLog }),
    nodeLog,
  };
  const services = { ...stored, serverKeys, changeQueue: createChangeQueue(stored) };
  const owned = cleanup.move();
  return {
    url,
    metricsUrl,
    database,
    databaseUrl,
    key,
    printed,
    services,
    logLines,
    async addPerson(subject = generateId()) {
      const person = {
        provider: "general",
        issuer: "https://issuer.test",
        subject,
        displayName: subject,
      } as const;
      const { accountId, identityId } = await findOrCreateAccount(person, services);
      const [vault] = await database.queryInAccount<{ id: string }>(accountId, {
        text: "SELECT id FROM live_vault WHERE account_id = entered.account::uuid AND kind = 'personal'",
      });
      await nodeLog.append();
      return { accountId, identityId, vaultId: vault?.id ?? "" };
    },
    addToken: (person, grant) => addToken(services, person.accountId, grant),
    request: (path, request = {}) => sendRequest(new URL(path, url), request),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type ServingOptions = Pick<TestKeepOptions, "membershipCheckMilliseconds"> & {
  readonly logLines: string[];
  readonly cleanup: AsyncDisposableStack;
};

/** Serves until the stack is disposed; returns the URLs. */
async function startServing(
  config: ServeConfig,
  { membershipCheckMilliseconds, logLines, cleanup }: ServingOptions,
): Promise<Pick<TestKeep, "url" | "metricsUrl" | "printed">> {
  const stop = new AbortController();
  let hasStarted = false;
  const logger = createLogger({
    level: "debug",
    allowedFields: logFields,
    write: (line) => logLines.push(line),
  });
  const printed: string[] = [];
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  const serving = serve(config, {
    logger,
    openDatabase,
    checkDatabaseReadiness,
    signal: stop.signal,
    membershipCheckMilliseconds,
    print: (line) => {
      printed.push(line);
      if (line.startsWith("Keep is listening on")) resolve();
    },
  });
  serving.catch(reject);
  cleanup.defer(async () => {
    stop.abort();
    // An error before listening was already reported through `listening`.
    await (hasStarted ? serving : serving.catch(() => undefined));
  });
  await listening;
  hasStarted = true;
  const urlAfter = (prefix: string): string =>
    printed.find((line) => line.startsWith(prefix))?.slice(prefix.length) ?? "";
  return { url: urlAfter("Keep is listening on "), metricsUrl: urlAfter("Metrics on "), printed };
}

async function addToken(
  {
    database,
    serverKeys: { rowMacs },
  }: Pick<TokenDependencies, "serverKeys"> & { readonly database: Database },
  accountId: string,
  grant: TestGrant,
): Promise<{ readonly id: string; readonly text: string }> {
  const text = generateToken();
  const token = {
    accountId,
    id: generateId(),
    tokenHash: hashToken(text),
    scopes: grant.scopes,
    vaultIds: grant.vaultIds ?? null,
    paths: grant.paths ?? null,
    addresses: grant.addresses ?? null,
    expiresAt: grant.expiresAt ?? null,
    ownerId: null,
    parentId: null,
  };
  await database.inAccount(accountId, async (transaction) => {
    const epoch = await lockEpoch(transaction, accountId, rowMacs);
    const macs = signToken(token, epoch, rowMacs);
    await insertToken(transaction, { ...token, name: "test", createdBy: "test", ...macs });
  });
  return { id: token.id, text };
}

function sendRequest(
  url: URL,
  { method = "GET", token, body, headers = {} }: TestRequest,
): Promise<Response> {
  return fetch(url, {
    method,
    redirect: "manual",
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}
