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

/** Somebody who signed in and made a token that may do everything these questions need. */
export type Owner = { readonly accountId: string; readonly vaultId: string; readonly token: string };

export type KeepFixture = AsyncDisposable & {
  readonly url: string;
  readonly postgres: Postgres;
  readonly databaseUrl: string;
  readonly owner: Owner;
  readonly ask: <Body>(path: string, wish?: Wish) => Promise<Body>;
  /** As the superuser. */
  readonly run: (sql: string, values?: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
};

/** The program itself with a database that survives a crash, as people run it, and one person in it. */
export async function startKeepFixture(
  settings: Readonly<Record<string, string>> = {},
): Promise<KeepFixture> {
  await using undo = new AsyncDisposableStack();
  const postgres = undo.use(
    await startPostgres({ durable: true, settings: { ...settings, max_wal_size: "4GB" } }),
  );
  const database = undo.use(await postgres.createDatabase());
  const url = `http://localhost:${await findFreePort()}`;
  const provider = undo.use(
    await startCodeHostingProvider({
      accounts: [{ id: 1, login: "owner", name: null, emails: [] }],
      applications: [
        { clientId: "keep", clientSecret: "secret", callbackUrl: `${url}/auth/callback/code-hosting` },
      ],
      allowsUnverifiedEmail: true,
    }),
  );
  undo.use(await startKeep(database.url, { url, provider }));
  const client = new Client(database.url);
  await client.connect();
  undo.defer(() => client.end());
  const owner = await enter(url, provider);
  const owned = undo.move();
  return {
    url,
    postgres,
    databaseUrl: database.url,
    owner,
    ask: (path, wish = {}) => ask(new URL(path, url), { authorization: `Bearer ${owner.token}` }, wish),
    run: async (sql, values = []) => (await client.query(sql, [...values])).rows,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type Around = { readonly url: string; readonly provider: Pick<CodeHostingProvider, "origin" | "apiUrl"> };

function startKeep(databaseUrl: string, { url, provider }: Around): Promise<OwnedProcess> {
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
      KEEP_READS_PER_MINUTE: "10000000",
      KEEP_WRITES_PER_MINUTE: "10000000",
      KEEP_LOG_LEVEL: "warn",
    },
    isReady: (output) => output.includes("Keep is listening on"),
  });
}

type Wish = { readonly method?: string; readonly body?: unknown };

async function ask<Body>(
  url: URL,
  headers: Record<string, string>,
  { method = "GET", body }: Wish,
): Promise<Body> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot ${method} ${url.pathname}: ${response.status} ${text}`);
  // What the contract says of this path.
  return JSON.parse(text) as Body;
}

/** A sign-in as a browser does it, cookie by cookie, and a token. */
async function enter(url: string, provider: Pick<CodeHostingProvider, "signInAs">): Promise<Owner> {
  const site = { origin: url, "sec-fetch-site": "same-origin" };
  const begun = await fetch(`${url}/auth/login/code-hosting`, {
    method: "POST",
    redirect: "manual",
    headers: site,
  });
  const login = cookiesOf(begun);
  const back = await provider.signInAs(begun.headers.get("location") ?? "", { account: "owner" });
  const entered = await fetch(back, { redirect: "manual", headers: { cookie: login } });
  const headers = { ...site, cookie: cookiesOf(entered) };
  const scopes = ["vaults:write", "secrets:read", "secrets:write", "audit:read"];
  const { value } = await ask<{ value: string }>(new URL("/api/secrets/tokens", url), headers, {
    method: "POST",
    body: { name: "bench", scopes },
  });
  const session = await ask<{ account: { id: string } }>(new URL("/api/session", url), headers, {});
  const vaults = await ask<readonly { id: string }[]>(new URL("/api/secrets/vaults", url), headers, {});
  return { accountId: session.account.id, vaultId: vaults[0]?.id ?? "", token: value };
}

function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ");
}

const inOneBatch = 200;

/** Puts real secrets into the owner's vault and gives their ids. */
export async function addSecrets(
  { ask: call, owner }: KeepFixture,
  count: number,
): Promise<readonly string[]> {
  const vault = `/api/secrets/vaults/${owner.vaultId}`;
  for (let from = 0; from < count; from += inOneBatch) {
    const operations = Array.from({ length: Math.min(inOneBatch, count - from) }, (_, place) => ({
      op: "put",
      path: `/bench/secret-${from + place}`,
      value: `value of ${from + place} ${"x".repeat(40)}`,
    }));
    await call(`${vault}/batch`, { method: "POST", body: { operations } });
  }
  const ids: string[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page: { items: { id: string }[]; next_cursor?: string } = await call(
      `${vault}/secrets?path=/bench&recursive=true&limit=200${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  return ids;
}

/** Rows of other accounts, as large and as many as real ones, that nobody opens: a database that is not small. */
export async function addStrangers(
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
    `INSERT INTO vault_key (account_id, vault_id, version, status, kek_fingerprint, wrapped) SELECT account_id, id, 1, 'active', (${key}), sha256(uuid_send(id)) FROM vault WHERE account_id <> $1`,
    [owner.accountId],
  );
  await run(
    "INSERT INTO secret (account_id, vault_id, id, folder, name, type, current_version, revision, key_version, mark, updated_by) SELECT account_id, vault.id, gen_random_uuid(), '/bench', 'secret-' || number, 'text', 1, number, 1, sha256(int4send(number)), 'server' FROM vault CROSS JOIN generate_series(1, $2::int) AS number WHERE account_id <> $1",
    [owner.accountId, secretsEach],
  );
  await run(
    "INSERT INTO secret_version (account_id, vault_id, secret_id, version, type, key_version, sealed, size, created_by) SELECT account_id, vault_id, id, 1, 'text', 1, '\\x01'::bytea || sha256(uuid_send(id)) || sha256(uuid_send(vault_id)) || sha256(uuid_send(account_id)), 55, 'server' FROM secret WHERE account_id <> $1",
    [owner.accountId],
  );
  await run("ANALYZE");
}

export type Load = {
  readonly answers: number;
  readonly refused: number;
  /** The first answer that was not 200. */
  readonly refusal?: string;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
};

export type LoadPlan = {
  readonly paths: readonly string[];
  readonly token?: string;
  readonly connections: number;
  readonly seconds: number;
};

/** From a process of its own, so that what asks takes as little as it can from what answers. */
export async function load(url: string, { token, ...plan }: LoadPlan): Promise<Load> {
  const words = {
    ...plan,
    port: Number(new URL(url).port),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const running = promisify(execFile)(process.execPath, [loadProcess]);
  running.child.stdin?.end(JSON.stringify(words));
  const { stdout } = await running;
  // Printed by the process above.
  const seen = JSON.parse(stdout) as Load;
  if (seen.refused > 0) {
    const first = JSON.stringify(seen.refusal);
    throw new Error(
      `Cannot measure: ${seen.refused} of ${seen.answers} were refused, the first with ${first}`,
    );
  }
  return seen;
}

/** The same database behind a handler that does nothing else. */
export async function startBareHandler(
  stage: KeepFixture,
): Promise<AsyncDisposable & { readonly url: string }> {
  await stage.run(
    "CREATE TABLE bare_audit (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz DEFAULT now(), account_id uuid, vault_id uuid, secret_id uuid, body text)",
  );
  const started = await startProcess({
    command: process.execPath,
    arguments: [bareProcess, stage.databaseUrl, stage.owner.accountId],
    environment: {},
    isReady: (output) => output.includes("Bare handler on"),
  });
  const url = /Bare handler on (\S+)/u.exec(started.output())?.[1] ?? "";
  return { url, [Symbol.asyncDispose]: () => started[Symbol.asyncDispose]() };
}
