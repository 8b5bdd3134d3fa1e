import type { AuditActor, AuditEntry, AuditLog } from "../audit/audit-log.ts";
import { type Actor, formatActor, personOf } from "../authorization/actor.ts";
import { findPatternErrors } from "../authorization/path-patterns.ts";
import { assertMayShare } from "../authorization/sharing.ts";
import { notifyNodes } from "../cluster/queries.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import { type Epochs, inNewEpoch, lockEpoch } from "../keys/row-integrity/account-epoch.ts";
import { listVaultAccessRows } from "../keys/row-integrity/queries.ts";
import type { RowMacs } from "../keys/row-integrity/row-macs.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import type { VaultRef } from "../keys/vault-keys.ts";
import { countCharacters, hasHolder, lockVault, storeVaultAccess } from "./queries.ts";
import { readGrants, type StoredAt } from "./read-grants.ts";
import {
  formatGrants,
  formatHolder,
  type Holder,
  isSameHolder,
  parseGrants,
  toPermission,
  type VaultGrant,
} from "./vault-grants.ts";

export type GrantDependencies = {
  readonly audit: Pick<AuditLog, "record">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

export type GrantSpec = Pick<VaultGrant, "holder" | "role" | "paths">;

const maxGrants = 1000;
/** Bounds what a change of grants reads and writes, and what every node keeps in memory. */
const maxCharactersOfVault = 256 * 1024;
const maxCharacters = 4 * 1024 * 1024;

type GrantRequest = { readonly actor: Actor; readonly vaultId: string };

/** In force at the next request of those who hold it. */
export async function createGrant(
  transaction: Transaction,
  { actor, vaultId, spec }: GrantRequest & { readonly spec: GrantSpec },
  { audit, serverKeys: { rowMacs } }: GrantDependencies,
): Promise<VaultGrant> {
  const vaultRef = { accountId: actor.accountId, vaultId };
  const { accountId } = vaultRef;
  const errors = findPatternErrors(spec.paths ?? [], "paths");
  if (errors.length > 0) throw requestFailure({ kind: "request-invalid", errors });
  assertMayShare(actor, toPermission(vaultId, spec));
  const epoch = await lockEpoch(transaction, accountId, rowMacs);
  const vault = await lockVault(transaction, vaultRef);
  if (vault === undefined) throw requestFailure({ kind: "not-found" });
  if (!vault.isShared) {
    const reason = "Only vaults of an organisation can be shared; create one in an organisation";
    throw requestFailure({ kind: "conflict", reason });
  }
  if (!(await hasHolder(transaction, accountId, spec.holder))) {
    const reason = `must be a ${spec.holder.type === "team" ? "team" : "member"} of the organisation`;
    throw requestFailure({ kind: "request-invalid", errors: [{ field: "holder.id", reason }] });
  }
  const grants = await readGrants(transaction, { vaultRef, epoch }, rowMacs);
  const added = newGrant(spec, actor);
  if (grants.some((grant) => isSameGrant(grant, added)))
    throw requestFailure({ kind: "conflict", reason: "There is such a grant already" });
  if (grants.length >= maxGrants)
    throw requestFailure({ kind: "quota-exceeded", resource: "grants of a vault", max: maxGrants });
  await assertRoomForText(transaction, accountId, { before: grants, after: [...grants, added] });
  await storeGrants(transaction, { vaultRef, epoch, grants: [...grants, added] }, rowMacs);
  audit.record(transaction, entryOf("grant-added", { vaultRef, by: actor, grant: added }));
  await notifyAccess(transaction, accountId);
  return added;
}

/** Who creates a vault in an organisation manages it. */
export async function grantToCreator(
  transaction: Transaction,
  { actor, vaultId }: GrantRequest,
  { audit, serverKeys: { rowMacs } }: GrantDependencies,
): Promise<void> {
  const personId = personOf(actor);
  if (personId === undefined) return;
  const vaultRef = { accountId: actor.accountId, vaultId };
  const epoch = await lockEpoch(transaction, vaultRef.accountId, rowMacs);
  const holder = { type: "person", id: personId } as const;
  const grant = newGrant({ holder, role: "manager", paths: null }, actor);
  await storeGrants(transaction, { vaultRef, epoch, grants: [grant] }, rowMacs);
  audit.record(transaction, entryOf("grant-added", { vaultRef, by: actor, grant }));
  await notifyAccess(transaction, vaultRef.accountId);
}

/** Ends what the grant allows, on every node. */
export async function deleteGrant(
  transaction: Transaction,
  { actor, vaultId, grantId }: GrantRequest & { readonly grantId: string },
  { audit, serverKeys: { rowMacs } }: GrantDependencies,
): Promise<void> {
  const { accountId } = actor;
  const vaultRef = { accountId, vaultId };
  const removed = await inNewEpoch(transaction, { accountId, rowMacs }, async ({ previous, next }) => {
    if ((await lockVault(transaction, vaultRef)) === undefined) throw requestFailure({ kind: "not-found" });
    const grants = await readGrants(transaction, { vaultRef, epoch: previous }, rowMacs);
    const grant = grants.find(({ id }) => id === grantId);
    if (grant === undefined) throw requestFailure({ kind: "not-found" });
    assertMayShare(actor, toPermission(vaultId, grant));
    const others = grants.filter(({ id }) => id !== grantId);
    await storeGrants(transaction, { vaultRef, epoch: next, grants: others }, rowMacs);
    return {
      result: grant,
      isRevoked: (row) => "vaultAccess" in row && row.vaultAccess.vaultId === vaultId,
    };
  });
  audit.record(transaction, entryOf("grant-removed", { vaultRef, by: actor, grant: removed }));
  await notifyAccess(transaction, accountId);
}

type HolderRemoval = {
  readonly accountId: string;
  readonly holder: Holder;
  readonly epochs: Epochs;
  readonly by: AuditActor;
};

/** Removes the grants of a member or team that ends, within a new epoch; returns the vaults whose grants were changed. */
export async function removeHolder(
  transaction: Transaction,
  { accountId, holder, epochs, by }: HolderRemoval,
  { audit, serverKeys: { rowMacs } }: GrantDependencies,
): Promise<ReadonlySet<string>> {
  const changed = new Set<string>();
  for (const { mac, ...vaultAccess } of await listVaultAccessRows(transaction, accountId)) {
    const isGenuine = rowMacs.isGenuine({ vaultAccess, epoch: epochs.previous }, mac);
    const grants = isGenuine ? parseGrants(vaultAccess.grants) : [];
    const held = grants.filter((grant) => isSameHolder(grant.holder, holder));
    if (held.length === 0) continue;
    const others = grants.filter((grant) => !held.includes(grant));
    const vaultRef = { accountId, vaultId: vaultAccess.vaultId };
    await storeGrants(transaction, { vaultRef, epoch: epochs.next, grants: others }, rowMacs);
    audit.record(transaction, ...held.map((grant) => entryOf("grant-removed", { vaultRef, by, grant })));
    changed.add(vaultAccess.vaultId);
  }
  return changed;
}

/** Members, teams or grants of the organisation have changed. The transaction's last statement. */
export async function notifyAccess(transaction: Transaction, accountId: string): Promise<void> {
  await notifyNodes(transaction, accountId, [{ kind: "access", subjectId: accountId }]);
}

type TextChange = { readonly before: readonly VaultGrant[]; readonly after: readonly VaultGrant[] };

async function assertRoomForText(
  transaction: Transaction,
  accountId: string,
  { before, after }: TextChange,
): Promise<void> {
  const length = formatGrants(after).length;
  const added = length - formatGrants(before).length;
  const [resource, max] =
    length > maxCharactersOfVault
      ? ["characters in the grants of a vault", maxCharactersOfVault]
      : ["characters in the grants of the organisation", maxCharacters];
  const isWithin =
    length <= maxCharactersOfVault &&
    (await countCharacters(transaction, accountId)) + added <= maxCharacters;
  if (!isWithin) throw requestFailure({ kind: "quota-exceeded", resource, max });
}

function newGrant(spec: GrantSpec, actor: Actor): VaultGrant {
  return { ...spec, id: generateId(), createdAt: new Date().toISOString(), createdBy: formatActor(actor) };
}

function isSameGrant(one: VaultGrant, other: VaultGrant): boolean {
  return (
    isSameHolder(one.holder, other.holder) &&
    one.role === other.role &&
    JSON.stringify(one.paths) === JSON.stringify(other.paths)
  );
}

async function storeGrants(
  transaction: Transaction,
  { vaultRef, epoch, grants }: StoredAt & { readonly grants: readonly VaultGrant[] },
  rowMacs: Pick<RowMacs, "compute">,
): Promise<void> {
  const vaultAccess = { ...vaultRef, grants: formatGrants(grants) };
  await storeVaultAccess(transaction, {
    ...vaultAccess,
    mac: rowMacs.compute({ vaultAccess, epoch }),
  });
}

type GrantChange = { readonly vaultRef: VaultRef; readonly by: AuditActor; readonly grant: VaultGrant };

function entryOf(
  type: "grant-added" | "grant-removed",
  { vaultRef, by, grant: { id, holder, role, paths } }: GrantChange,
): AuditEntry {
  const event = { type, grant: id, holder: formatHolder(holder), role, ...(paths === null ? {} : { paths }) };
  return { ...vaultRef, by, event };
}
