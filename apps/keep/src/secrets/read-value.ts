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
import type { VaultHeads } from "../keys/vault-heads/vault-heads.ts";
import type { DataKey, VaultKeys, VaultRef } from "../keys/vault-keys.ts";
import { readValueById, readValueByPath, type SecretType, type ValueRow } from "./queries.ts";
import { reportIntegrityError } from "./report-integrity-error.ts";
import {
  assertGenuine,
  noteAssociatedData,
  SecretIntegrityError,
  valueAssociatedData,
  wrapIntegrityError,
  wrapLoadError,
} from "./secret-mac.ts";
import { joinPath, type SecretPath } from "./secret-path.ts";

/** Rows decrypted before other requests get a turn. */
const decryptedRows = 50;
/** The same for large ones. */
const decryptedBytes = 256 * 1024;

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
  readonly vaultHeads: Pick<VaultHeads, "assertCurrent">;
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
  const reach = { scope: "secrets:read", vaultId } as const;
  if ("path" in selector) assertPathAllowed(actor.grant, reach, selector.path.path);
  const read = async (): Promise<readonly [ValueRow]> => {
    const row =
      "path" in selector
        ? await readValueByPath(dependencies.database, vaultRef, selector.path)
        : await readValueById(dependencies.database, vaultRef, selector);
    if (row === undefined || !allowsPath(actor.grant, reach, joinPath(row.folder, row.name)))
      throw requestFailure({ kind: "not-found" });
    if (!("path" in selector) && selector.version !== null) assertNotDestroyed(row, selector.version);
    return [row];
  };
  const [decrypted] = await decryptVersions(vaultRef, read, { ...dependencies, by: actor });
  if (decrypted === undefined) throw new Error("A value that was found was not decrypted");
  await dependencies.audit.recordRead({
    ...vaultRef,
    by: actor,
    event: { type: "value-read", secret: decrypted.id, path: decrypted.path, version: decrypted.version },
  });
  return decrypted;
}

/** Attempts to read rows that change while they are read. */
const maxAttempts = 5;

/**
 * Verifies and decrypts the rows that `read` returns. Each row must match its MAC and the vault's head, and its value
 * must decrypt with its own associated data. One bad row is reported and fails the whole call. The caller records the
 * read before returning any value.
 */
export async function decryptVersions(
  vaultRef: VaultRef,
  read: () => Promise<readonly ValueRow[]>,
  { by, ...dependencies }: ReadDependencies & { readonly by: Actor },
): Promise<readonly DecryptedValue[]> {
  let rows = await read();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await decryptRows(vaultRef, rows, dependencies);
    } catch (error) {
      // A change or a key rotation since the query looks like a rolled-back row. Rows that stay the same are just that.
      const again = error instanceof SecretIntegrityError ? await read() : rows;
      if (isSame(rows, again)) return reportIntegrityError(error, { by, vaultRef }, dependencies);
      if (attempt === maxAttempts) throw requestFailure({ kind: "data-locked" }, { cause: error });
      rows = again;
    }
  }
}

async function decryptRows(
  vaultRef: VaultRef,
  rows: readonly ValueRow[],
  dependencies: ReadDependencies,
): Promise<readonly DecryptedValue[]> {
  const decrypted: DecryptedValue[] = [];
  let bytes = 0;
  for (const [index, row] of rows.entries()) {
    if (index % decryptedRows === decryptedRows - 1 || bytes > decryptedBytes) {
      await yieldToEventLoop();
      bytes = 0;
    }
    decrypted.push(await decryptVersion(vaultRef, row, dependencies));
    bytes += row.sealed?.length ?? 0;
  }
  return decrypted;
}

function isSame(rows: readonly ValueRow[], again: readonly ValueRow[]): boolean {
  return (
    rows.length === again.length &&
    rows.every((row, index) => {
      const other = again[index];
      return (
        other !== undefined &&
        row.vault_revision === other.vault_revision &&
        row.version_key === other.version_key &&
        row.mark.equals(other.mark)
      );
    })
  );
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
  { vaultKeys, vaultHeads }: Pick<ReadDependencies, "vaultKeys" | "vaultHeads">,
): Promise<DecryptedValue> {
  await wrapLoadError(row.id, vaultHeads.assertCurrent(vaultRef, row));
  const rowKey = await wrapLoadError(row.id, vaultKeys.ofVersion(vaultRef, row.key_version));
  assertGenuine(vaultRef.vaultId, row, rowKey);
  const { version, version_type: type, version_key: keyVersion, sealed: ciphertext } = row;
  if (version === null || type === null || keyVersion === null || ciphertext === null) {
    throw new SecretIntegrityError(row.id);
  }
  if (row.destroyed_versions.includes(version)) throw new SecretIntegrityError(row.id);
  const valueKey =
    keyVersion === rowKey.version
      ? rowKey
      : await wrapLoadError(row.id, vaultKeys.ofVersion(vaultRef, keyVersion));
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
