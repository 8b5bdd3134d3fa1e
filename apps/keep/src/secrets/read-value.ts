/**
 * @module
 * Secrets: named values with numbered versions that never change. `http.ts` turns requests into use cases, each verb has
 * its file, `queries.ts` has the SQL. Promises that a value leaves only as it was stored last, in its place and after its
 * record; that a change, its record and its answer stand or fall together; and that nothing is destroyed unasked.
 * Imported by `routes.ts`, and by `keys/` for the sealing of a secret under a new key.
 */
import { openSealed } from "@hearth-and-keep/envelope-crypto";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { reachesPath } from "../authorization/grant.ts";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import type { DataKey, VaultKeys, VaultPlace } from "../keys/vault-keys.ts";
import { notePlace, valuePlace } from "./associated-data.ts";
import { refuseUnlessReached } from "./path-access.ts";
import { readValueById, readValueByPath, type SecretType, type ValueRow } from "./queries.ts";
import { reportBroken } from "./report-broken.ts";
import { inSecret, keyInSecret, refuseUnlessStanding, SecretBroken } from "./secret-mac.ts";
import { joinPath, type SecretPath } from "./secret-path.ts";

export type OpenedValue = {
  readonly id: string;
  readonly folder: string;
  readonly name: string;
  readonly path: string;
  readonly version: number;
  /** Of the secret. */
  readonly revision: number;
  readonly type: SecretType;
  readonly value: Buffer;
  readonly note?: string;
};

export type ReadParts = {
  readonly database: Pick<Database, "askInAccount">;
  readonly vaultKeys: Pick<VaultKeys, "ofVersion">;
  readonly audit: AuditLog;
};

export type WantedValue =
  | { readonly id: string; readonly version: number | null }
  | { readonly path: SecretPath };

/** One value, checked, opened, and recorded before it is given. */
export async function readValue(
  actor: Actor,
  { vaultId, wanted }: { readonly vaultId: string; readonly wanted: WantedValue },
  parts: ReadParts,
): Promise<OpenedValue> {
  const place = { accountId: actor.accountId, vaultId };
  if ("path" in wanted) refuseUnlessReached(actor.grant, wanted.path.path);
  const find = () =>
    "path" in wanted
      ? readValueByPath(parts.database, place, wanted.path)
      : readValueById(parts.database, place, wanted);
  const row = refuseUnlessThere(actor, wanted, await find());
  const opened = await openVersion(place, row, parts)
    .catch(async (problem: unknown) => {
      // Between the two questions it may have been sealed under a new key, and the old one destroyed.
      const again = problem instanceof SecretBroken ? await find() : undefined;
      if (again === undefined || isSealedAs(row, again)) throw problem;
      return openVersion(place, refuseUnlessThere(actor, wanted, again), parts);
    })
    .catch((problem: unknown) => reportBroken(problem, { by: actor, place }, parts));
  await parts.audit.recordRead(actor.accountId, {
    chain: vaultId,
    by: actor,
    event: { type: "value-read", secret: opened.id, path: opened.path, version: opened.version },
  });
  return opened;
}

/**
 * Rows that a query brought, checked and opened: each must be what was stored last, as its mark, the audit chain and the
 * vault's revision say, and its value must open in its place. What is not is reported and refused as a whole. The caller
 * records the reading before anything leaves.
 */
export async function openVersions(
  place: VaultPlace,
  rows: readonly ValueRow[],
  { by, ...parts }: ReadParts & { readonly by: Actor },
): Promise<readonly OpenedValue[]> {
  try {
    const opened: OpenedValue[] = [];
    for (const row of rows) opened.push(await openVersion(place, row, parts));
    return opened;
  } catch (problem) {
    return reportBroken(problem, { by, place }, parts);
  }
}

function refuseUnlessThere(actor: Actor, wanted: WantedValue, row: ValueRow | undefined): ValueRow {
  if (row === undefined || !reachesPath(actor.grant, joinPath(row.folder, row.name))) {
    throw requestFailure({ kind: "not-found" });
  }
  const isCurrent = "path" in wanted || wanted.version === null;
  if (!isCurrent) refuseUnlessKept(row, wanted.version ?? 0);
  return row;
}

function isSealedAs(row: ValueRow, again: ValueRow): boolean {
  return row.mark.equals(again.mark) && row.version_key === again.version_key;
}

/** A version that never was and one that was destroyed are not there; one that should be and is not is a broken secret. */
function refuseUnlessKept(row: ValueRow, version: number): void {
  if (version > row.current_version || (row.destroyed_versions.includes(version) && row.sealed === null)) {
    throw requestFailure({ kind: "not-found" });
  }
}

async function openVersion(
  place: VaultPlace,
  row: ValueRow,
  { vaultKeys }: Pick<ReadParts, "vaultKeys">,
): Promise<OpenedValue> {
  const marking = await keyInSecret(row.id, vaultKeys.ofVersion(place, row.key_version));
  refuseUnlessStanding(place.vaultId, row, marking);
  const { version, version_type: type, version_key: keyVersion, sealed } = row;
  if (version === null || type === null || keyVersion === null || sealed === null) {
    throw new SecretBroken(row.id);
  }
  if (row.destroyed_versions.includes(version)) throw new SecretBroken(row.id);
  const sealing =
    keyVersion === marking.version
      ? marking
      : await keyInSecret(row.id, vaultKeys.ofVersion(place, keyVersion));
  const value = inSecret(row.id, () =>
    openSealed(
      sealed,
      sealing.key,
      valuePlace({ vaultId: place.vaultId, secretId: row.id, version, keyVersion, type }),
    ),
  );
  const note = openNote(place.vaultId, row, marking);
  return {
    id: row.id,
    folder: row.folder,
    name: row.name,
    path: joinPath(row.folder, row.name),
    version,
    revision: row.revision,
    type,
    value,
    ...(note === undefined ? {} : { note }),
  };
}

function openNote(vaultId: string, row: ValueRow, { key }: DataKey): string | undefined {
  const { note_sealed: sealed, id } = row;
  if (sealed === null) return undefined;
  return inSecret(id, () => openSealed(sealed, key, notePlace(vaultId, id, row.key_version))).toString(
    "utf8",
  );
}
