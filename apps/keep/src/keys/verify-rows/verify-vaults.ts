import {
  isGenuineKey,
  isGenuineSecret,
  isGenuineVersion,
  type StoredSecret,
} from "../../secrets/verify-stored.ts";
import { type CheckedHead, checkHead } from "../vault-heads/vault-heads.ts";
import type { VaultRef } from "../vault-ref.ts";
import type { LoggedAccount } from "./logged-account.ts";
import {
  listKeyVersions,
  listOrphans,
  listSecretRows,
  listVaultIds,
  listVersionRows,
  pageSizes,
  readLoggedRevision,
  type StoredVersion,
  type VaultIdRow,
} from "./queries.ts";
import { readPages } from "./read-pages.ts";
import type { RowVerifier } from "./row-verifier.ts";
import { verifyFolders } from "./verify-folders.ts";

/** The account's vaults, with their keys, secrets, versions and folders. */
export async function verifyVaults(
  accountId: string,
  logged: LoggedAccount,
  verifier: RowVerifier,
): Promise<{ readonly vaults: number } & VaultCounts> {
  const { database, report } = verifier;
  const ids = new Set<string>();
  const counts = { secrets: 0, values: 0 };
  const listed = readPages(pageSizes.rows, (last: VaultIdRow | undefined) =>
    listVaultIds(database, accountId, last?.id ?? null),
  );
  for await (const { id: vaultId } of listed) {
    ids.add(vaultId);
    if (logged.purgedVaults.has(vaultId)) report(`vault ${vaultId} was put back after it was purged`);
    if (logged.transferredVaults.has(vaultId))
      report(`vault ${vaultId} was put back after it was transferred`);
    const found = await verifyVault({ accountId, vaultId }, verifier);
    counts.secrets += found.secrets;
    counts.values += found.values;
  }
  if (!logged.isDeleted)
    for (const vaultId of logged.vaults) if (!ids.has(vaultId)) report(`vault ${vaultId} was removed`);
  for (const { table, id } of await listOrphans(database, accountId))
    report(`${table} ${id} belongs to nothing`);
  return { vaults: ids.size, ...counts };
}

type VaultCounts = { readonly secrets: number; readonly values: number };

async function verifyVault(vaultRef: VaultRef, verifier: RowVerifier): Promise<VaultCounts> {
  const { database, report, headSeal } = verifier;
  const { vaultId } = vaultRef;
  // Read before the vault, which changes first.
  const loggedRevision = await readLoggedRevision(database, vaultRef);
  const head = await checkHead(database, vaultRef, headSeal);
  reportHead(vaultId, head, report);
  if (head !== undefined && head.revision < loggedRevision)
    report(
      `vault ${vaultId} was rolled back: its revision is ${head.revision}, but the log says ${loggedRevision}`,
    );
  await verifyKeys(vaultRef, verifier);
  let [secrets, values] = [0, 0];
  const folders = new Set<string>();
  let page: readonly StoredSecret[] = [];
  do {
    page = await listSecretRows(database, vaultRef, page.at(-1)?.id ?? null);
    secrets += page.length;
    for (const secret of page) {
      if (secret.deleted_at === null) folders.add(secret.folder);
      if (!(await isGenuineSecret(vaultRef, secret, keysOf(vaultRef, verifier))))
        report(`secret ${secret.id} is not genuine`);
    }
    values += await verifyVersions(vaultRef, page, verifier);
  } while (page.length === pageSizes.secrets);
  await verifyFolders(vaultRef, folders, verifier);
  return { secrets, values };
}

function reportHead(vaultId: string, head: CheckedHead | undefined, report: (finding: string) => void): void {
  if (head === undefined) report(`vault ${vaultId} was removed`);
  else if (!head.isGenuine) report(`vault ${vaultId} is not genuine: its row was changed`);
  else if (!head.coversSecrets)
    report(`vault ${vaultId} is not genuine: secrets were added, removed or rolled back`);
}

function keysOf(vaultRef: VaultRef, { vaultKeys }: RowVerifier) {
  return (version: number) => vaultKeys.ofVersion(vaultRef, version);
}

async function verifyKeys(vaultRef: VaultRef, verifier: RowVerifier): Promise<void> {
  const { database, report } = verifier;
  const keys = await listKeyVersions(database, vaultRef);
  for (const { version } of keys)
    if (!(await isGenuineKey(version, keysOf(vaultRef, verifier))))
      report(`vault_key ${version} of vault ${vaultRef.vaultId} is not genuine`);
  // A rotation adds the next version, so the newest one is active.
  const active = keys.filter(({ isActive }) => isActive);
  if (active.length !== 1 || active[0] !== keys.at(-1))
    report(`vault_key of vault ${vaultRef.vaultId}: its newest key is not the only active one`);
}

/** Every version up to the current one has a row, also when it was destroyed. Returns the number of genuine values. */
async function verifyVersions(
  vaultRef: VaultRef,
  secrets: readonly StoredSecret[],
  verifier: RowVerifier,
): Promise<number> {
  if (secrets.length === 0) return 0;
  const { database, report } = verifier;
  const byId = new Map(secrets.map((secret) => [secret.id, { secret, versions: 0 }]));
  const selection = { ...vaultRef, ids: [...byId.keys()] };
  let values = 0;
  const listed = readPages(pageSizes.versions, (last: StoredVersion | undefined) =>
    listVersionRows(database, selection, last),
  );
  for await (const version of listed) {
    const found = byId.get(version.secret_id);
    if (found === undefined) continue;
    found.versions += 1;
    const { secret } = found;
    if (!(await isGenuineVersion(vaultRef, { secret, version }, keysOf(vaultRef, verifier))))
      report(`secret_version ${version.version} of secret ${secret.id} is not genuine`);
    else if (version.sealed !== null) values += 1;
  }
  for (const { secret, versions } of byId.values())
    if (versions < secret.current_version) report(`secret_version of secret ${secret.id} was removed`);
  return values;
}
