/**
 * @module
 * A whole Keep for tests: the real server over a real database, with people in it and tokens for them. Nothing is
 * replaced; what it adds goes through the program's own use cases, or through rows as the program writes them.
 * Imported by tests only.
 */
import { readSettings } from "@hearth-and-keep/configuration";
import { createLogger, type LogLevel } from "@hearth-and-keep/logging";
import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { openAccount } from "../accounts/find-or-create-account.ts";
import { createAuditLog } from "../audit/audit-log.ts";
import type { Scope } from "../authorization/scopes.ts";
import { serve } from "../commands/serve.ts";
import { type ServeConfig, serveSettings } from "../config.ts";
import { type Database, openDatabase } from "../database/open-database.ts";
import { whyNotReady } from "../database/queries.ts";
import { generateId } from "../generate-id.ts";
import { makeKeyText, readKeys } from "../keys/key-encryption-key.ts";
import { createVaultKeys } from "../keys/vault-keys.ts";
import { logFields } from "../server.ts";
import { generateToken, hashToken } from "../tokens/token-format.ts";

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

export type TestKeep = AsyncDisposable & {
  readonly url: string;
  /** Where the metrics are. */
  readonly metricsUrl: string;
  /** With the rights of the program itself. */
  readonly database: Database;
  /** With the rights of a superuser. */
  readonly databaseUrl: string;
  readonly key: string;
  /** Log lines so far, at the most talkative level. */
  readonly logLines: readonly string[];
  /** Somebody's first sign-in, without the browser. */
  addPerson(subject?: string): Promise<TestPerson>;
  addToken(
    person: Pick<TestPerson, "accountId">,
    grant: TestGrant,
  ): Promise<{ readonly id: string; readonly text: string }>;
  ask(path: string, asked?: TestRequest): Promise<Response>;
};

export type TestKeepOptions = {
  /** Settings as a person would write them, by their flags' names without dashes (`publicUrl`). */
  readonly settings?: Readonly<Record<string, string>>;
  /** An existing one, so that several nodes share it. */
  readonly databaseUrl?: string;
  readonly key?: string;
  readonly logLevel?: LogLevel;
};

const migrated = {
  name: "keep schema",
  prepare: async (url: string) => (await openDatabase({ url }))[Symbol.asyncDispose](),
};

export async function startTestKeep(options: TestKeepOptions = {}): Promise<TestKeep> {
  await using undo = new AsyncDisposableStack();
  const databaseUrl = options.databaseUrl ?? undo.use(await acquireDatabase(migrated)).url;
  const key = options.key ?? makeKeyText();
  const settings = { databaseUrl, encryptionKey: key, port: "0", metricsPort: "0", ...options.settings };
  const config = readSettings(serveSettings, {
    prefix: "KEEP",
    flags: settings,
    environment: {},
    filePath: undefined,
  });
  const logLines: string[] = [];
  const { url, metricsUrl } = await startServing(config, logLines, undo);
  const database = undo.use(await openDatabase({ url: databaseUrl }));
  const parts = {
    database,
    vaultKeys: createVaultKeys(database, readKeys(config.encryptionKey)),
    audit: createAuditLog(database),
  };
  const owned = undo.move();
  return {
    url,
    metricsUrl,
    database,
    databaseUrl,
    key,
    logLines,
    async addPerson(subject = generateId()) {
      const person = {
        provider: "general",
        issuer: "https://issuer.test",
        subject,
        displayName: subject,
      } as const;
      const { accountId, identityId } = await openAccount(person, parts);
      const [vault] = await database.askInAccount<{ id: string }>(accountId, {
        text: "SELECT id FROM live_vault WHERE account_id = entered.account::uuid AND kind = 'personal'",
      });
      return { accountId, identityId, vaultId: vault?.id ?? "" };
    },
    addToken: (person, grant) => addToken(database, person.accountId, grant),
    ask: (path, asked = {}) => ask(new URL(path, url), asked),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Until the stack is disposed of; gives the addresses. */
async function startServing(
  config: ServeConfig,
  logLines: string[],
  undo: AsyncDisposableStack,
): Promise<{ readonly url: string; readonly metricsUrl: string }> {
  const end = new AbortController();
  let hasStarted = false;
  const logger = createLogger({
    level: "debug",
    allowedFields: logFields,
    write: (line) => logLines.push(line),
  });
  const printed: string[] = [];
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  const served = serve(config, {
    logger,
    openDatabase,
    whyNotReady,
    signal: end.signal,
    print: (line) => {
      printed.push(line);
      if (line.startsWith("Keep is listening on")) resolve();
    },
  });
  served.catch(reject);
  undo.defer(async () => {
    end.abort();
    // One that never came to listen has told why already.
    await (hasStarted ? served : served.catch(() => undefined));
  });
  await listening;
  hasStarted = true;
  const addressAfter = (words: string): string =>
    printed.find((line) => line.startsWith(words))?.slice(words.length) ?? "";
  return { url: addressAfter("Keep is listening on "), metricsUrl: addressAfter("Metrics on ") };
}

async function addToken(
  database: Database,
  accountId: string,
  grant: TestGrant,
): Promise<{ readonly id: string; readonly text: string }> {
  const id = generateId();
  const token = generateToken();
  const hash = hashToken(token);
  await database.inAccount(accountId, async (transaction) => {
    await transaction.query({
      text: "INSERT INTO api_token (account_id, id, name, token_hash, scopes, vault_ids, paths, addresses, expires_at, created_by) VALUES ($1, $2, 'test', $3, $4, $5, $6, $7, $8, 'test')",
      values: [
        accountId,
        id,
        hash,
        [...grant.scopes],
        grant.vaultIds ?? null,
        grant.paths ?? null,
        grant.addresses ?? null,
        grant.expiresAt ?? null,
      ],
    });
    await transaction.query({
      text: "INSERT INTO token_route (token_hash, account_id, token_id) VALUES ($1, $2, $3)",
      values: [hash, accountId, id],
    });
  });
  return { id, text: token };
}

function ask(url: URL, { method = "GET", token, body, headers = {} }: TestRequest): Promise<Response> {
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
