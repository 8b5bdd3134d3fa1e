import type { Database } from "../database/open-database.ts";
import type { MemberRef } from "./queries.ts";

/** A secret of which a member knows a value, at its path of now. */
type ExposedSecret = {
  readonly vaultId: string;
  readonly vaultName: string;
  readonly secretId: string;
  readonly path: string;
  /** The highest version that they know. */
  readonly version: number;
  readonly readAt: Date;
  readonly isCurrent: boolean;
};

export type Exposure = {
  readonly secrets: readonly ExposedSecret[];
  /** False when a log is too long to be searched whole, or a part of it is archived. */
  readonly isComplete: boolean;
};

const maxRecords = 100_000;
const maxSecrets = 10_000;

type ExposureDatabase = Pick<Database, "queryInAccount" | "acrossAccounts">;

/**
 * The secrets whose values the person, or a token of theirs, has read or written, according to the logs of the vaults: those
 * of which they know the current value first. A secret that was deleted since is left out.
 */
export async function readExposure(
  database: ExposureDatabase,
  { accountId, personId }: MemberRef,
): Promise<Exposure> {
  const actors = [`person:${personId}`, ...(await listOwnedTokens(database, { accountId, personId }))];
  const vaults = await database.queryInAccount<{ id: string; name: string }>(accountId, {
    text: "SELECT id, name FROM live_vault WHERE account_id = entered.account::uuid ORDER BY id",
  });
  const secrets: ExposedSecret[] = [];
  let isComplete = !(await hasArchivedRecords(database, accountId));
  for (const vault of vaults) {
    const { log, scanned } = await searchLog(database, { accountId, vaultId: vault.id, actors });
    if (scanned >= maxRecords) isComplete = false;
    const found = await locateSecrets(database, { accountId, vault, log });
    secrets.push(...found);
  }
  const sorted = secrets.toSorted(
    (one, other) =>
      Number(other.isCurrent) - Number(one.isCurrent) || other.readAt.getTime() - one.readAt.getTime(),
  );
  return { secrets: sorted.slice(0, maxSecrets), isComplete: isComplete && sorted.length <= maxSecrets };
}

/** Also those that ended so long ago that only the log names them. */
async function listOwnedTokens(
  database: Pick<Database, "queryInAccount">,
  { accountId, personId }: MemberRef,
): Promise<readonly string[]> {
  const rows = await database.queryInAccount<{ id: string }>(accountId, {
    text: `WITH newest AS MATERIALIZED (SELECT body FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = entered.account::uuid AND outcome = 'changed' ORDER BY number DESC LIMIT ${maxRecords})
      SELECT id::text FROM api_token WHERE account_id = entered.account::uuid AND owner_id = $2
      UNION SELECT body::jsonb ->> 'token' FROM newest WHERE body LIKE '%"type":"token-created"%' AND body::jsonb ->> 'owner' = $2::text`,
    values: [personId],
  });
  return rows.map(({ id }) => `token:${id}`);
}

/** Whether records of a month in which the organisation existed are no longer in the database. */
async function hasArchivedRecords(
  database: Pick<Database, "acrossAccounts">,
  accountId: string,
): Promise<boolean> {
  const rows = await database.acrossAccounts((transaction) =>
    transaction.query({
      text: "SELECT FROM audit_archive JOIN account ON account_id = $1 WHERE month >= to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM') LIMIT 1",
      values: [accountId],
    }),
  );
  return rows.length > 0;
}

/** What the log of a vault says of the values that somebody knows. */
type SearchedLog = {
  /** By secret, for each version that they have read or written, when they last did. */
  readonly known: ReadonlyMap<string, ReadonlyMap<number, Date>>;
  /** By secret, the versions that repeat an earlier one, with that one; 0 where the record does not say which. */
  readonly restored: ReadonlyMap<string, ReadonlyMap<number, number>>;
};

type LogSearch = {
  readonly accountId: string;
  readonly vaultId: string;
  readonly actors: readonly string[];
};

async function searchLog(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId, actors }: LogSearch,
): Promise<{ readonly log: SearchedLog; readonly scanned: number }> {
  const rows = await database.queryInAccount<{ number: string | null; body: string | null; scanned: string }>(
    accountId,
    {
      text: `WITH newest AS MATERIALIZED (SELECT number, body FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = $2 AND outcome IN ('read', 'changed') ORDER BY audit_record.number DESC LIMIT ${maxRecords})
        SELECT number, body, scanned FROM (SELECT count(*) AS scanned FROM newest) AS counted LEFT JOIN newest ON body::jsonb ->> 'by' = ANY ($3) OR body LIKE '%"type":"version-restored"%' ORDER BY newest.number DESC`,
      values: [vaultId, actors],
    },
  );
  const known = new Map<string, Map<number, Date>>();
  const restored = new Map<string, Map<number, number>>();
  for (const { number, body } of rows) {
    const event: Readonly<Record<string, unknown>> = JSON.parse(body ?? "{}");
    const { type, secret, version, from } = event;
    if (type === "version-restored") setOf(restored, String(secret)).set(Number(version), Number(from ?? 0));
    for (const { secretId, version: of } of parseVersions(event)) {
      const versions = setOf(known, secretId);
      // Newest first.
      if (!versions.has(of)) versions.set(of, new Date(Number(number) / 1000));
    }
  }
  return { log: { known, restored }, scanned: Number(rows[0]?.scanned ?? 0) };
}

function setOf<Value>(bySecret: Map<string, Map<number, Value>>, secretId: string): Map<number, Value> {
  const found = bySecret.get(secretId) ?? new Map<number, Value>();
  bySecret.set(secretId, found);
  return found;
}

type KnownVersion = { readonly secretId: string; readonly version: number };

/** The versions whose values the actor of the record knows since. A comparison returns no value. */
function parseVersions(event: Readonly<Record<string, unknown>>): readonly KnownVersion[] {
  const { type, secret, version, secrets } = event;
  if (["value-read", "value-used", "secret-written"].includes(String(type)) && typeof secret === "string")
    return [{ secretId: secret, version: Number(version) }];
  if ((type !== "values-read" && type !== "values-exported") || !Array.isArray(secrets)) return [];
  return secrets.map(String).map((text) => {
    const [secretId = "", of = "0"] = text.split("@");
    return { secretId, version: Number(of) };
  });
}

type LocatedReads = {
  readonly accountId: string;
  readonly vault: { readonly id: string; readonly name: string };
  readonly log: SearchedLog;
};

async function locateSecrets(
  database: Pick<Database, "queryInAccount">,
  { accountId, vault, log: { known, restored } }: LocatedReads,
): Promise<readonly ExposedSecret[]> {
  if (known.size === 0) return [];
  const rows = await database.queryInAccount<{ id: string; path: string; current: number }>(accountId, {
    text: "SELECT id, CASE folder WHEN '/' THEN '' ELSE folder END || '/' || name AS path, current_version AS current FROM live_secret WHERE account_id = entered.account::uuid AND vault_id = $2 AND id = ANY ($3)",
    values: [vault.id, [...known.keys()]],
  });
  return rows.map(({ id: secretId, path, current }) => {
    const versions = known.get(secretId) ?? new Map<number, Date>();
    const origin = originOf(current, restored.get(secretId));
    const knowsCurrent = (version: number): boolean =>
      origin === 0 || originOf(version, restored.get(secretId)) === origin;
    const isCurrent = [...versions.keys()].some(knowsCurrent);
    // The highest one, because an older one may be read after it.
    const version = Math.max(...versions.keys());
    const readAt = versions.get(version) ?? new Date(0);
    return { vaultId: vault.id, vaultName: vault.name, secretId, path, version, readAt, isCurrent };
  });
}

/** The version that first had this value; 0 if the log does not say. */
function originOf(version: number, restored: ReadonlyMap<number, number> | undefined): number {
  const from = restored?.get(version);
  // A version is restored from an earlier one.
  return from === undefined || from >= version ? version : originOf(from, restored);
}
