import { createHash } from "node:crypto";
import type { Actor } from "../../authorization/actor.ts";
import type { Database } from "../../database/open-database.ts";
import { requestFailure } from "../../failures.ts";
import { readVault } from "../../vaults/queries.ts";
import { reachExpressions, reachesInto } from "../path-access.ts";
import { measureValues, readValueRows } from "../queries.ts";
import { type OpenedValue, openVersions, type ReadParts } from "../read-value.ts";
import { encodeValue } from "../value-content.ts";
import { expandReferences, nameVersion } from "./expand-references.ts";
import { refuseFile } from "./file-entries.ts";
import { listRevisions } from "./queries.ts";

/** Which values of a vault, and whether their references are to be replaced. */
export type Selection = {
  readonly vaultId: string;
  readonly folder: string;
  readonly recursive: boolean;
  /** Null takes all. */
  readonly names: readonly string[] | null;
  readonly expands: boolean;
};

/** The state that a selection is in for somebody: the same tag twice means that the same values would be given. */
export type SelectionState = { readonly revision: number; readonly tag: string };

const mostItems = 1000;
const mostBytes = 4 * 1024 * 1024;

/** Opens nothing and records nothing. */
export async function readSelectionState(
  actor: Actor,
  { vaultId, folder, recursive, names, expands }: Selection,
  { database }: { readonly database: Pick<Database, "askInAccount"> },
): Promise<SelectionState> {
  const vault = await readVault(database, { accountId: actor.accountId, vaultId });
  if (vault === undefined) throw requestFailure({ kind: "not-found" });
  const { vaultIds, paths = null } = actor.grant;
  if (!reachesInto(actor.grant, folder)) throw requestFailure({ kind: "out-of-reach", path: folder });
  // With references the values depend on other vaults too.
  const others = expands
    ? await listRevisions(database, actor.accountId, vaultIds === undefined ? null : [...vaultIds])
    : null;
  const policy = createHash("sha256").update(JSON.stringify([paths, folder, recursive, names, others]));
  return { revision: vault.revision, tag: `v${vault.revision}-${policy.digest("base64url").slice(0, 22)}` };
}

/** Checked, opened, and recorded in one record before they are given. */
export async function readSelected(
  actor: Actor,
  { selection, event }: { readonly selection: Selection; readonly event: "values-read" | "values-exported" },
  parts: ReadParts,
): Promise<readonly OpenedValue[]> {
  const { vaultId, folder, recursive, names, expands } = selection;
  const place = { accountId: actor.accountId, vaultId };
  const search = { folder, recursive, names, reach: reachExpressions(actor.grant), limit: mostItems };
  refuseTooMuch(await measureValues(parts.database, place, search));
  const rows = await readValueRows(parts.database, place, search);
  const opened = await openVersions(place, rows, { ...parts, by: actor });
  const values = expands ? await expandReferences(actor, { vaultId, values: opened }, parts) : opened;
  refuseTooLong(values);
  await parts.audit.recordRead(actor.accountId, {
    chain: vaultId,
    by: actor,
    event: { type: event, secrets: opened.map(nameVersion), path: folder },
  });
  return values;
}

/** Before anything is fetched: a folder may hold more than this process could. */
function refuseTooMuch({ items, bytes }: { readonly items: number; readonly bytes: number }): void {
  if (items > mostItems) {
    throw refuseFile([
      {
        place: "path",
        reason: `selects ${items} secrets, more than ${mostItems}; narrow it by path or names`,
      },
    ]);
  }
  if (bytes > mostBytes) throw tooLong();
}

/** As they are written into an answer, in which some characters take more room, as bytes in base64 do. */
function refuseTooLong(values: readonly OpenedValue[]): void {
  const written = values.map(({ value, type }) =>
    Buffer.byteLength(JSON.stringify(encodeValue(value, type).value)),
  );
  if (written.reduce((sum, bytes) => sum + bytes, 0) > mostBytes) throw tooLong();
}

function tooLong(): Error {
  return refuseFile([
    { place: "path", reason: `selects more than ${mostBytes} bytes of values; narrow it by path or names` },
  ]);
}
