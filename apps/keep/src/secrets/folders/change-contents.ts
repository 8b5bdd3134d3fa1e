import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { AuditEvent } from "../../audit/events.ts";
import { splitPath } from "../../authorization/path-patterns.ts";
import type { VaultChange } from "../../vaults/open-changes.ts";
import { type PreparedUpdate, prepareUpdate, type SecretChanges } from "../change-secret.ts";
import type { SecretForUpdate, SecretRow } from "../queries.ts";
import { joinPath, type SecretPath } from "../secret-path.ts";
import { updateSecretRows } from "./queries.ts";

/** A secret and the path it gets. */
export type Move = { readonly secret: SecretForUpdate; readonly path: SecretPath };

/** Secrets stored and recorded in one statement each; a folder of thousands otherwise locks its vault for long. */
const chunkSecrets = 250;

export async function deleteContents(
  change: VaultChange,
  secrets: readonly SecretForUpdate[],
): Promise<void> {
  await changeAll(
    change,
    secrets.map((before) => ({ before, changes: { state: "deleted" as const } })),
    (row) => ({ type: "secret-deleted", secret: row.id, path: joinPath(row.folder, row.name) }),
  );
}

/**
 * Secrets of one depth at a time, the least deep first: a secret that moves up may take a path that another one leaves,
 * and the order of rows within a statement is undefined.
 */
export async function moveContents(change: VaultChange, moves: readonly Move[]): Promise<void> {
  const byDepth = Map.groupBy(moves, ({ secret }) => splitPath(secret.folder).length);
  for (const [, level] of [...byDepth].toSorted(([one], [other]) => one - other)) {
    await changeAll(
      change,
      level.map(({ secret, path: { folder, name } }) => ({ before: secret, changes: { folder, name } })),
      (row) => ({ type: "secret-changed", secret: row.id, path: joinPath(row.folder, row.name) }),
    );
  }
}

type RequestedUpdate = { readonly before: SecretForUpdate; readonly changes: SecretChanges };

async function changeAll(
  change: VaultChange,
  updates: readonly RequestedUpdate[],
  eventFor: (row: SecretRow) => AuditEvent,
): Promise<void> {
  await inChunks(updates, chunkSecrets, async (chunk) => {
    const prepared: PreparedUpdate[] = [];
    for (const { before, changes } of chunk) prepared.push(await prepareUpdate(change, before, changes));
    await updateSecretRows(change.transaction, change.vaultRef, prepared);
    for (const { row } of prepared) change.record(eventFor(row), { id: row.id, revision: row.revision });
  });
}

/**
 * Runs work on parts of a long list, one after the other. Other requests run in between, so that a large request does not
 * delay them by more than one part.
 */
async function inChunks<Item>(
  items: readonly Item[],
  size: number,
  work: (chunk: readonly Item[]) => Promise<void>,
): Promise<void> {
  for (let begin = 0; begin < items.length; begin += size) {
    if (begin > 0) await yieldToEventLoop();
    await work(items.slice(begin, begin + size));
  }
}
