import { FailureError } from "@hearth-and-keep/failures";
import {
  allowsPath,
  allowsVault,
  allowsWholeFolder,
  assertFolderAllowed,
  assertScopeAllowed,
  type Grant,
} from "../../authorization/grant.ts";
import type { FindAccess } from "../../authorization/member-access.ts";
import type { Scope } from "../../authorization/scopes.ts";
import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import { requestFailure } from "../../failures.ts";
import { lockEpoch } from "../../keys/row-integrity/account-epoch.ts";
import { listMemberRows, listTokenRows } from "../../keys/row-integrity/queries.ts";
import type { ProposedChangeRow, RowMacs } from "../../keys/row-integrity/row-macs.ts";
import { readDisplayNames } from "../../organisations/queries.ts";
import { toGrant } from "../../tokens/check-token.ts";
import { assertBatchAllowed } from "../run-batch.ts";
import type { Proposal } from "./change-content.ts";
import type { StoredChange } from "./queries.ts";

/** Throws unless the grant allows everything that the change does. */
export function assertProposalAllowed(grant: Grant, vaultId: string, proposal: Proposal): void {
  const { operations, settings, vaultAction } = proposal;
  if (!allowsVault(grant, vaultId)) throw requestFailure({ kind: "not-found" });
  if (operations.length > 0) {
    assertScopeAllowed(grant, { scope: "secrets:write", vaultId });
    assertBatchAllowed({ actor: { grant }, vaultId }, operations);
  }
  const isSettings = Object.keys(settings).length > 0;
  if (isSettings || vaultAction === "restore") assertVaultAllowed(grant, "vaults:write", vaultId);
  if (vaultAction === "delete") assertVaultAllowed(grant, "vaults:delete", vaultId);
}

function assertVaultAllowed(grant: Grant, scope: Scope, vaultId: string): void {
  assertScopeAllowed(grant, { scope, vaultId });
  assertFolderAllowed(grant, { scope, vaultId }, "/");
}

/** Whether the grant lets its holder know of the change: of all the paths that it names. */
export function mayList(grant: Grant, { vaultId, paths, isVaultWide }: ProposedChangeRow): boolean {
  const reach = { scope: "secrets:list", vaultId } as const;
  return (
    paths.every((path) => allowsPath(grant, reach, path)) &&
    (!isVaultWide || allowsWholeFolder(grant, reach, "/"))
  );
}

type ProposerContext = {
  readonly database: Pick<Database, "acrossAccounts">;
  readonly rowMacs: RowMacs;
  readonly findAccess: FindAccess;
};

/**
 * Throws unless whoever proposed the change may still make it: a person is a member and allowed to, a token is not
 * revoked or expired and allows it. Returns the grants, for checks that depend on the vault. Locks the account, so that
 * neither changes until the transaction ends.
 */
export async function assertProposerAllowed(
  transaction: Transaction,
  { row, proposal }: { readonly row: StoredChange; readonly proposal: Proposal },
  context: ProposerContext,
): Promise<readonly Grant[]> {
  const { accountId, personId, proposerKind, proposerId } = row;
  const epoch = await lockEpoch(transaction, accountId, context.rowMacs);
  const ref = { accountId, epoch };
  const grants = [
    ...(personId === null ? [] : [await findPersonGrant(transaction, { ...ref, personId }, context)]),
    ...(proposerKind === "session"
      ? []
      : [await findTokenGrant(transaction, { ...ref, tokenId: proposerId, now: row.readAt }, context)]),
  ];
  const known = grants.filter((grant) => grant !== undefined);
  if (known.length < grants.length || known.length === 0) throw noLongerAllowed();
  try {
    for (const grant of known) assertProposalAllowed(grant, row.vaultId, proposal);
  } catch (error) {
    throw error instanceof FailureError ? noLongerAllowed(error) : error;
  }
  return known;
}

type AccountOfEpoch = { readonly accountId: string; readonly epoch: number };

async function findPersonGrant(
  transaction: Transaction,
  { accountId, epoch, personId }: AccountOfEpoch & { readonly personId: string },
  { database, rowMacs, findAccess }: ProposerContext,
): Promise<Grant | undefined> {
  // Only active accounts have a name.
  if (!(await readDisplayNames(database, [personId])).has(personId)) return undefined;
  const members = await listMemberRows(transaction, accountId);
  const isMember = members.some(
    ({ mac, ...member }) => member.personId === personId && rowMacs.isGenuine({ member, epoch }, mac),
  );
  return isMember ? (await findAccess({ accountId, personId }))?.grant : undefined;
}

async function findTokenGrant(
  transaction: Transaction,
  { accountId, epoch, tokenId, now }: AccountOfEpoch & { readonly tokenId: string; readonly now: Date },
  { rowMacs }: ProposerContext,
): Promise<Grant | undefined> {
  const tokens = await listTokenRows(transaction, accountId);
  const token = tokens.find(({ id }) => id === tokenId);
  if (token === undefined || !rowMacs.isGenuine({ token, epoch }, token.mac)) return undefined;
  const grant = toGrant(token);
  return grant.expiresAt === undefined || grant.expiresAt > now ? grant : undefined;
}

function noLongerAllowed(cause?: unknown): Error {
  const reason = "Whoever proposed the change is no longer allowed to make it; reject it";
  return requestFailure({ kind: "conflict", reason }, { cause });
}
