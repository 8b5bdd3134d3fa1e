/**
 * @module
 * Secrets: named values with immutable, numbered versions. `http.ts` maps requests to use cases, each verb has its own
 * file, `queries.ts` has the SQL. Guarantees that a value is returned only if it passes its integrity checks, and after
 * its read was recorded; that a change, its audit record and its idempotent result are one transaction; and that no
 * version is destroyed without a request.
 * Imported by `routes.ts`, and by `keys/` to re-encrypt secrets under a new key.
 */
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { decrypt } from "@hearth-and-keep/envelope-crypto";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { allowsPath, assertPathAllowed } from "../authorization/grant.ts";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import type { DataKey, VaultKeys, VaultRef } from "../keys/vault-keys.ts";
import { noteAssociatedData, valueAssociatedData } from "./associated-data.ts";
import { readValueById, readValueByPath, type SecretType, type ValueRow } from "./queries.ts";
import { reportIntegrityError } from "./report-integrity-error.ts";
import { assertNotRolledBack, SecretIntegrityError, wrapIntegrityError, wrapKeyError } from "./secret-mac.ts";
import { joinPath, type SecretPath } from "./secret-path.ts";

/** Rows decrypted before other requests get a turn. */
const decryptedRows = 50;

export type DecryptedValue = {
  readonly id: string;
  readonly folder: string;
  readonly name: string;
  readonly path: string;
  readonly version: number;
  /** The secret's revision. */
  readonly revision: number;
  readonly type: SecretType;
  readonly value: Buffer;
  readonly note?: string;
};

export type ReadDependencies = {
  readonly database: Pick<Database, "queryInAccount">;
  readonly vaultKeys: Pick<VaultKeys, "ofVersion">;
  readonly audit: AuditLog;
};

export type ValueSelector =
  | { readonly id: string; readonly version: number | null }
  | { readonly path: SecretPath };

/** Verifies and decrypts one value, and records the read before returning it. */
export async function readValue(
  actor: Actor,
  { vaultId, selector }: { readonly vaultId: string; readonly selector: ValueSelector },
  dependencies: ReadDependencies,
): Promise<DecryptedValue> {
  const vaultRef = { accountId: actor.accountId, vaultId };
  if ("path" in selector) assertPathAllowed(actor.grant, selector.path.path);
  const find = () =>
    "path" in selector
      ? readValueByPath(dependencies.database, vaultRef, selector.path)
      : readValueById(dependencies.database, vaultRef, selector);
  const row = assertFound(actor, selector, await find());
  const decrypted = await decryptVersion(vaultRef, row, dependencies)
    .catch(async (error: unknown) => {
      // A key rotation between the two queries may have re-encrypted the row and destroyed the old key: read once more.
      const again = error instanceof SecretIntegrityError ? await find() : undefined;
      if (again === undefined || hasSameEncryption(row, again)) throw error;
      return decryptVersion(vaultRef, assertFound(actor, selector, again), dependencies);
    })
    .catch((error: unknown) => reportIntegrityError(error, { by: actor, vaultRef }, dependencies));
  await dependencies.audit.recordRead(actor.accountId, {
    chain: vaultId,
    by: actor,
    event: { type: "value-read", secret: decrypted.id, path: decrypted.path, version: decrypted.version },
  });
  return decrypted;
}

/**
 * Verifies and decrypts rows. Each row must match its MAC, the audit chain and the vault's revision, and its value must
 * decrypt with its own associated data. One bad row is reported and fails the whole call. The caller records the read
 * before returning any value.
 */
export async function decryptVersions(
  vaultRef: VaultRef,
  rows: readonly ValueRow[],
  { by, ...dependencies }: ReadDependencies & { readonly by: Actor },
): Promise<readonly DecryptedValue[]> {
  try {
    const decrypted: DecryptedValue[] = [];
    for (const [index, row] of rows.entries()) {
      if (index % decryptedRows === decryptedRows - 1) await yieldToEventLoop();
      decrypted.push(await decryptVersion(vaultRef, row, dependencies));
    }
    return decrypted;
  } catch (error) {
    return reportIntegrityError(error, { by, vaultRef }, dependencies);
  }
}

function assertFound(actor: Actor, selector: ValueSelector, row: ValueRow | undefined): ValueRow {
  if (row === undefined || !allowsPath(actor.grant, joinPath(row.folder, row.name))) {
    throw requestFailure({ kind: "not-found" });
  }
  const isCurrent = "path" in selector || selector.version === null;
  if (!isCurrent) assertNotDestroyed(row, selector.version ?? 0);
  return row;
}

function hasSameEncryption(row: ValueRow, again: ValueRow): boolean {
  return row.mark.equals(again.mark) && row.version_key === again.version_key;
}

/**
 * A version that never existed or was destroyed is not found. A version that should exist but is missing is left to the
 * integrity check.
 */
function assertNotDestroyed(row: ValueRow, version: number): void {
  if (version > row.current_version || (row.destroyed_versions.includes(version) && row.sealed === null)) {
    throw requestFailure({ kind: "not-found" });
  }
}

async function decryptVersion(
  vaultRef: VaultRef,
  row: ValueRow,
  { vaultKeys }: Pick<ReadDependencies, "vaultKeys">,
): Promise<DecryptedValue> {
  const rowKey = await wrapKeyError(row.id, vaultKeys.ofVersion(vaultRef, row.key_version));
  assertNotRolledBack(vaultRef.vaultId, row, rowKey);
  const { version, version_type: type, version_key: keyVersion, sealed: ciphertext } = row;
  if (version === null || type === null || keyVersion === null || ciphertext === null) {
    throw new SecretIntegrityError(row.id);
  }
  if (row.destroyed_versions.includes(version)) throw new SecretIntegrityError(row.id);
  const valueKey =
    keyVersion === rowKey.version
      ? rowKey
      : await wrapKeyError(row.id, vaultKeys.ofVersion(vaultRef, keyVersion));
  const value = wrapIntegrityError(row.id, () =>
    decrypt(
      ciphertext,
      valueKey.key,
      valueAssociatedData({ vaultId: vaultRef.vaultId, secretId: row.id, version, keyVersion, type }),
    ),
  );
  const note = decryptNote(vaultRef.vaultId, row, rowKey);
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

function decryptNote(vaultId: string, row: ValueRow, { key }: DataKey): string | undefined {
  const { note_sealed: ciphertext, id } = row;
  if (ciphertext === null) return undefined;
  return wrapIntegrityError(id, () =>
    decrypt(ciphertext, key, noteAssociatedData(vaultId, id, row.key_version)),
  ).toString("utf8");
}
