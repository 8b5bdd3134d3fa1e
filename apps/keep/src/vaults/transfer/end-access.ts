import type { AuditActor, AuditLog } from "../../audit/audit-log.ts";
import type { AuditEvent } from "../../audit/events.ts";
import type { Revocation } from "../../cluster/cache-invalidation.ts";
import type { Transaction } from "../../database/transaction.ts";
import { inNewEpoch } from "../../keys/row-integrity/account-epoch.ts";
import { listTokenRows, listTrustRuleRows } from "../../keys/row-integrity/queries.ts";
import type { RowMacs } from "../../keys/row-integrity/row-macs.ts";
import type { VaultRef } from "../../keys/vault-keys.ts";
import { deleteTrustRules, type NamedRow, removeVaultFromLimits, revokeTokensOfVault } from "./queries.ts";

type EndingDependencies = {
  readonly audit: Pick<AuditLog, "record">;
  readonly rowMacs: RowMacs;
};

/**
 * Ends what opens the vault in the account that it leaves, in a new epoch: tokens and trust rules that are limited to other
 * vaults too lose this one, and those that are limited to it alone end. Otherwise they would open it again if it came
 * back. Returns what nodes must forget.
 */
export async function endAccess(
  transaction: Transaction,
  { vaultRef, by }: { readonly vaultRef: VaultRef; readonly by: AuditActor },
  { audit, rowMacs }: EndingDependencies,
): Promise<readonly Revocation[]> {
  const { accountId, vaultId } = vaultRef;
  const ended = await inNewEpoch(transaction, { accountId, rowMacs }, async ({ previous, next }) => {
    const revoked = await revokeTokensOfVault(transaction, vaultRef);
    const tokens = await limitTokens(transaction, { vaultRef, previous, next, rowMacs });
    const { rules, deletedRules } = await limitTrustRules(transaction, {
      vaultRef,
      previous,
      next,
      rowMacs,
    });
    const ids = new Set([...revoked, ...tokens, ...rules, ...deletedRules].map(({ id }) => id));
    return {
      result: { revoked, tokens, rules, deletedRules },
      isRevoked: (row) =>
        ("token" in row && ids.has(row.token.id)) ||
        ("trustRule" in row && ids.has(row.trustRule.id)) ||
        ("vaultAccess" in row && row.vaultAccess.vaultId === vaultId),
    };
  });
  const { revoked, tokens, rules, deletedRules } = ended;
  const events: readonly AuditEvent[] = [
    ...revoked.map(({ id, reason }) => ({ type: "token-revoked", token: id, reason }) as const),
    ...tokens.map(({ id, name }) => ({ type: "token-changed", token: id, name }) as const),
    ...rules.map(({ id, name }) => ({ type: "trust-rule-changed", rule: id, name }) as const),
    ...deletedRules.map(({ id, name }) => ({ type: "trust-rule-deleted", rule: id, name }) as const),
  ];
  audit.record(transaction, ...events.map((event) => ({ accountId, by, event })));
  return [...revoked, ...tokens].map(({ id }) => ({ kind: "token", subjectId: id }) as const);
}

type Limiting = {
  readonly vaultRef: VaultRef;
  readonly previous: number;
  readonly next: number;
  readonly rowMacs: RowMacs;
};

/** Rows that Keep did not write stay as they are, without a valid MAC. */
async function limitTokens(
  transaction: Transaction,
  { vaultRef, previous, next, rowMacs }: Limiting,
): Promise<readonly NamedRow[]> {
  const macs = (await listTokenRows(transaction, vaultRef.accountId)).flatMap(({ mac, ...token }) => {
    const vaultIds = without(token.vaultIds, vaultRef.vaultId);
    if (vaultIds === undefined || !rowMacs.isGenuine({ token, epoch: previous }, mac)) return [];
    return [{ key: token.id, mac: rowMacs.compute({ token: { ...token, vaultIds }, epoch: next }) }];
  });
  return removeVaultFromLimits(transaction, vaultRef, { table: "api_token", macs });
}

type LimitedRules = { readonly rules: readonly NamedRow[]; readonly deletedRules: readonly NamedRow[] };

async function limitTrustRules(
  transaction: Transaction,
  { vaultRef, previous, next, rowMacs }: Limiting,
): Promise<LimitedRules> {
  const { accountId, vaultId } = vaultRef;
  const ending: string[] = [];
  const macs = (await listTrustRuleRows(transaction, accountId)).flatMap(({ mac, ...trustRule }) => {
    const vaultIds = without(trustRule.vaultIds, vaultId);
    if (vaultIds?.length === 0) ending.push(trustRule.id);
    const isGenuine = rowMacs.isGenuine({ trustRule, epoch: previous }, mac);
    if (vaultIds === undefined || vaultIds.length === 0 || !isGenuine) return [];
    return [
      { key: trustRule.id, mac: rowMacs.compute({ trustRule: { ...trustRule, vaultIds }, epoch: next }) },
    ];
  });
  const rules = await removeVaultFromLimits(transaction, vaultRef, { table: "trust_rule", macs });
  return { rules, deletedRules: await deleteTrustRules(transaction, accountId, ending) };
}

/** Undefined if the vault is not among them. */
function without(vaultIds: readonly string[] | null, vaultId: string): readonly string[] | undefined {
  return vaultIds?.includes(vaultId) === true ? vaultIds.filter((id) => id !== vaultId) : undefined;
}
