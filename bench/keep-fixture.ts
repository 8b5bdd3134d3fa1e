import { execFile, execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  type CodeHostingProvider,
  findFreePort,
  type OwnedProcess,
  type Postgres,
  startCodeHostingProvider,
  startPostgres,
  startProcess,
} from "@hearth-and-keep/test-servers";
import { Client } from "pg";

const program = fileURLToPath(new URL("../apps/keep/bin/keep.js", import.meta.url));
const loadProcess = fileURLToPath(new URL("./load-process.ts", import.meta.url));
const bareProcess = fileURLToPath(new URL("./bare-vault-process.ts", import.meta.url));

/** A signed-in account with a token that has every permission the benchmarks need. */
export type Owner = { readonly accountId: string; readonly vaultId: string; readonly token: string };

export type KeepFixture = AsyncDisposable & {
  readonly url: string;
  readonly postgres: Postgres;
  readonly databaseUrl: string;
  readonly owner: Owner;
  /** Signs another account in. */
  readonly addOwner: () => Promise<Owner>;
  readonly request: <Body>(path: string, options?: RequestOptions) => Promise<Body>;
  /** Runs SQL as the superuser. */
  readonly run: (sql: string, values?: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
};

/** For benchmarks of one client that sends as much as it can. */
export const withoutRateLimits = { KEEP_READS_PER_MINUTE: "10000000", KEEP_WRITES_PER_MINUTE: "10000000" };

/** Starts the real program on a crash-safe database, as in production, with one account. */
export async function startKeepFixture(
  settings: Readonly<Record<string, string>> = withoutRateLimits,
): Promise<KeepFixture> {
  await using stack = new AsyncDisposableStack();
  const postgres = stack.use(await startPostgres({ durable: true, settings: { max_wal_size: "4GB" } }));
  const database = stack.use(await postgres.createDatabase());
  const url = `http://localhost:${await findFreePort()}`;
  const provider = stack.use(
    await startCodeHostingProvider({
      accounts: ["owner", "other"].map((login, index) => ({ id: index + 1, login, name: null, emails: [] })),
      applications: [
        { clientId: "keep", clientSecret: "secret", callbackUrl: `${url}/auth/callback/code-hosting` },
      ],
      allowsUnverifiedEmail: true,
    }),
  );
  stack.use(await startKeep(database.url, { url, provider, settings }));
  const client = new Client(database.url);
  await client.connect();
  stack.defer(() => client.end());
  const owner = await signIn(url, provider, "owner");
  const resources = stack.move();
  return {
    url,
    postgres,
    databaseUrl: database.url,
    owner,
    addOwner: () => signIn(url, provider, "other"),
    request: (path, { token = owner.token, ...options } = {}) =>
      sendRequest(new URL(path, url), { authorization: `Bearer ${token}` }, options),
    run: async (sql, values = []) => (await client.query(sql, [...values])).rows,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

type KeepPlan = {
  readonly url: string;
  readonly provider: Pick<CodeHostingProvider, "origin" | "apiUrl">;
  readonly settings: Readonly<Record<string, string>>;
};

function startKeep(databaseUrl: string, { url, provider, settings }: KeepPlan): Promise<OwnedProcess> {
  const key = execFileSync(process.execPath, [program, "generate-key"], { encoding: "utf8" }).trim();
  return startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", new URL(url).port, "--metrics-port", "0"],
    environment: {
      KEEP_DATABASE_URL: databaseUrl,
      KEEP_ENCRYPTION_KEY: key,
      KEEP_PUBLIC_URL: url,
      KEEP_CODE_HOSTING_URL: provider.origin,
      KEEP_CODE_HOSTING_API_URL: provider.apiUrl,
      KEEP_CODE_HOSTING_CLIENT_ID: "keep",
      KEEP_CODE_HOSTING_CLIENT_SECRET: "secret",
      KEEP_LOG_LEVEL: "warn",
      ...settings,
    },
    isReady: (output) => output.includes("Keep is listening on"),
  });
}

type RequestOptions = {
  readonly method?: string;
  readonly body?: unknown;
  /** Defaults to the owner's. */
  readonly token?: string;
};

async function sendRequest<Body>(
  url: URL,
  headers: Record<string, string>,
  { method = "GET", body }: Omit<RequestOptions, "token">,
): Promise<Body> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot ${method} ${url.pathname}: ${response.status} ${text}`);
  // The API contract defines the response of this path.
  return JSON.parse(text) as Body;
}

/** Signs in like a browser, with cookies, and creates a token. */
async function signIn(
  url: string,
  provider: Pick<CodeHostingProvider, "signInAs">,
  account: string,
): Promise<Owner> {
  const site = { origin: url, "sec-fetch-site": "same-origin" };
  const started = await fetch(`${url}/auth/login/code-hosting`, {
    method: "POST",
    redirect: "manual",
    headers: site,
  });
  const login = cookiesOf(started);
  const back = await provider.signInAs(started.headers.get("location") ?? "", { account });
  const signedIn = await fetch(back, { redirect: "manual", headers: { cookie: login } });
  const headers = { ...site, cookie: cookiesOf(signedIn) };
  const scopes = [
    "vaults:write",
    "keys:rotate",
    "secrets:read",
    "secrets:write",
    "tokens:write",
    "audit:read",
  ];
  const { value } = await sendRequest<{ value: string }>(new URL("/api/secrets/tokens", url), headers, {
    method: "POST",
    body: { name: "bench", scopes },
  });
  const session = await sendRequest<{ account: { id: string } }>(new URL("/api/session", url), headers, {});
  const vaults = await sendRequest<readonly { id: string }[]>(
    new URL("/api/secrets/vaults", url),
    headers,
    {},
  );
  return { accountId: session.account.id, vaultId: vaults[0]?.id ?? "", token: value };
}

function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ");
}

const batchSize = 200;

/** Creates real secrets in a vault of the owner, by default the personal one, and returns their ids. */
export async function addSecrets(
  { request, owner }: KeepFixture,
  count: number,
  vaultId = owner.vaultId,
): Promise<readonly string[]> {
  const vault = `/api/secrets/vaults/${vaultId}`;
  for (let from = 0; from < count; from += batchSize) {
    const operations = Array.from({ length: Math.min(batchSize, count - from) }, (_, index) => ({
      op: "put",
      path: `/bench/secret-${from + index}`,
      value: `value of ${from + index} ${"x".repeat(40)}`,
    }));
    await request(`${vault}/batch`, { method: "POST", body: { operations } });
  }
  const ids: string[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page: { items: { id: string }[]; next_cursor?: string } = await request(
      `${vault}/secrets?path=/bench&recursive=true&limit=200${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  return ids;
}

/** Inserts rows of other accounts, as large as real ones but never decrypted, to make the database large. */
export async function addOtherAccounts(
  { run, owner }: KeepFixture,
  accounts: number,
  secretsEach: number,
): Promise<void> {
  const key = "SELECT kek_fingerprint FROM vault_key LIMIT 1";
  await run(
    `INSERT INTO account (account_id, display_name) SELECT gen_random_uuid(), 'stranger' FROM generate_series(1, $1::int)`,
    [accounts],
  );
  await run(
    "INSERT INTO vault (account_id, id, name, kind) SELECT account_id, gen_random_uuid(), 'Personal', 'personal' FROM account WHERE account_id <> $1",
    [owner.accountId],
  );
  await run(
    `INSERT INTO vault_key (account_id, vault_id, version, status, kek_fingerprint, wrapped, bound_to_account) SELECT account_id, id, 1, 'active', (${key}), sha256(uuid_send(id)), true FROM vault WHERE account_id <> $1`,
    [owner.accountId],
  );
  await insertSecrets(run, { accounts: "account_id <> $1", accountId: owner.accountId, secretsEach });
}

/** Fills all vaults of the owner in the same way, beyond what an account may have. */
export async function fillOwnVaults({ run, owner }: KeepFixture, secretsEach: number): Promise<void> {
  await insertSecrets(run, { accounts: "account_id = $1", accountId: owner.accountId, secretsEach });
}

type NewSecrets = {
  /** A condition that selects accounts; $1 is the account id. */
  readonly accounts: string;
  readonly accountId: string;
  readonly secretsEach: number;
};

async function insertSecrets(
  run: KeepFixture["run"],
  { accounts, accountId, secretsEach }: NewSecrets,
): Promise<void> {
  await run(
    `INSERT INTO secret (account_id, vault_id, id, folder, name, type, current_version, revision, key_version, mark, updated_by) SELECT account_id, vault.id, gen_random_uuid(), '/bench', 'secret-' || number, 'text', 1, number, 1, sha256(int4send(number)), 'server' FROM vault CROSS JOIN generate_series(1, $2::int) AS number WHERE ${accounts}`,
    [accountId, secretsEach],
  );
  await run(
    `INSERT INTO secret_version (account_id, vault_id, secret_id, version, type, key_version, sealed, size, created_by) SELECT account_id, vault_id, id, 1, 'text', 1, '\\x01'::bytea || sha256(uuid_send(id)) || sha256(uuid_send(vault_id)) || sha256(uuid_send(account_id)), 55, 'server' FROM secret WHERE ${accounts}`,
    [accountId],
  );
  // From before the server started, so that it does not look for their leaves.
  await run(
    `INSERT INTO audit_record (account_id, stream_id, number, log_id, outcome, subject_id, revision, mac) SELECT account_id, vault_id, (extract(epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC')) * 1000000)::bigint + row_number() OVER (PARTITION BY vault_id), 0, 'changed', id, revision, mark FROM secret WHERE ${accounts}`,
    [accountId],
  );
  await run("ANALYZE");
}

export type Load = {
  readonly answers: number;
  readonly refused: number;
  /** The first response that was not 200. */
  readonly refusal?: string;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
};

export type LoadPlan = {
  readonly paths: readonly string[];
  readonly token?: string;
  /** JSON to write; without it, the paths are read. */
  readonly body?: string;
  readonly connections: number;
  readonly seconds: number;
};

/** Runs in its own process, so that the client takes as little CPU time as possible from the server. */
export async function load(url: string, { token, ...plan }: LoadPlan): Promise<Load> {
  const input = {
    ...plan,
    port: Number(new URL(url).port),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const running = promisify(execFile)(process.execPath, [loadProcess]);
  running.child.stdin?.end(JSON.stringify(input));
  const { stdout } = await running;
  // Printed by load-process.ts.
  const result = JSON.parse(stdout) as Load;
  if (result.refused > 0) {
    const first = JSON.stringify(result.refusal);
    throw new Error(
      `${result.refused} of ${result.answers} requests failed; the first response was ${first}`,
    );
  }
  return result;
}

/** Serves the same database with a handler that does nothing else. */
export async function startBareHandler(
  fixture: KeepFixture,
): Promise<AsyncDisposable & { readonly url: string }> {
  await fixture.run(
    "CREATE TABLE bare_write (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, vault_id uuid, body text); CREATE TABLE bare_audit (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz DEFAULT now(), account_id uuid, vault_id uuid, secret_id uuid, body text)",
  );
  const started = await startProcess({
    command: process.execPath,
    arguments: [bareProcess, fixture.databaseUrl, fixture.owner.accountId],
    environment: {},
    isReady: (output) => output.includes("Bare handler on"),
  });
  const url = /Bare handler on (\S+)/u.exec(started.output())?.[1] ?? "";
  return { url, [Symbol.asyncDispose]: () => started[Symbol.asyncDispose]() };
}
