import type { AuditLog } from "../audit/audit-log.ts";
import { type Actor, formatActor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import { type IdempotencyKey, runIdempotent } from "../idempotency/run-idempotent.ts";
import { type Epochs, inNewEpoch, lockEpoch } from "../keys/row-integrity/account-epoch.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { assertMayIssue, assertValidSpec } from "../tokens/create-token.ts";
import { countVaults, revokeTokens } from "../tokens/queries.ts";
import { reportRevokedTokens } from "../tokens/revoke-token.ts";
import { findUnsafeCriteria } from "./check-criteria.ts";
import {
  deleteTrustRule,
  findTrustRule,
  insertTrustRule,
  listTrustRules,
  updateTrustRule,
} from "./queries.ts";
import type { TrustRule } from "./trust-rule.ts";

export type RuleDependencies = {
  readonly database: Pick<Database, "inAccount">;
  readonly audit: Pick<AuditLog, "record">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

/** What a person says of a rule. */
export type RuleSpec = Pick<
  TrustRule,
  "name" | "provider" | "issuer" | "conditions" | "jwks" | "scopes" | "vaultIds" | "paths" | "lifetimeSeconds"
>;

const maxRules = 100;

export async function createRule(
  actor: Actor,
  { spec, idempotencyKey }: { readonly spec: RuleSpec; readonly idempotencyKey: IdempotencyKey | undefined },
  { database, audit, serverKeys: { rowMacs } }: RuleDependencies,
): Promise<TrustRule> {
  assertSafe(spec);
  assertMayGrant(actor, spec);
  const { accountId } = actor;
  const { result } = await runIdempotent(database, { actor, idempotencyKey }, async (transaction) => {
    const epoch = await lockEpoch(transaction, accountId, rowMacs);
    await assertVaultsExist(transaction, accountId, spec);
    if ((await listTrustRules(transaction, accountId)).length >= maxRules)
      throw requestFailure({ kind: "quota-exceeded", resource: "trust rules", max: maxRules });
    const rule = { ...spec, accountId, id: generateId(), createdBy: formatActor(actor) };
    await insertTrustRule(transaction, { ...rule, mac: rowMacs.compute({ trustRule: rule, epoch }) });
    const event = { type: "trust-rule-created", rule: rule.id, name: rule.name } as const;
    audit.record(transaction, { accountId, by: actor, event });
    return { id: rule.id };
  });
  return getRule(database, accountId, result.id);
}

export type RuleChange = {
  readonly ruleId: string;
  readonly changes: Partial<RuleSpec>;
  readonly idempotencyKey: IdempotencyKey | undefined;
};

/** Revokes the rule's tokens, unless only its name changes. */
export async function changeRule(
  actor: Actor,
  { ruleId, changes, idempotencyKey }: RuleChange,
  dependencies: RuleDependencies,
): Promise<TrustRule> {
  const { database, audit, serverKeys } = dependencies;
  const { rowMacs } = serverKeys;
  const { accountId } = actor;
  await runIdempotent(database, { actor, idempotencyKey }, async (transaction) => {
    const apply: ApplyChange = async (rule, { previous, next }) => {
      if (!rowMacs.isGenuine({ trustRule: rule, epoch: previous }, rule.mac))
        throw requestFailure({ kind: "integrity-broken" });
      const changed = { ...rule, ...changes };
      assertSafe(changed);
      if (!isRenaming(changes)) assertMayGrant(actor, changed);
      await assertVaultsExist(transaction, accountId, changed);
      const mac = rowMacs.compute({ trustRule: changed, epoch: next });
      await updateTrustRule(transaction, { ...changed, mac }, formatActor(actor));
      const event = { type: "trust-rule-changed", rule: ruleId, name: changed.name } as const;
      audit.record(transaction, { accountId, by: actor, event });
    };
    await endRule(transaction, { actor, ruleId, keepsTokens: isRenaming(changes), apply }, dependencies);
    return {};
  });
  return getRule(database, accountId, ruleId);
}

function isRenaming(changes: Partial<RuleSpec>): boolean {
  return Object.keys(changes).every((name) => name === "name");
}

/** Deletes the rule and revokes its tokens. */
export async function deleteRule(
  actor: Actor,
  { ruleId, idempotencyKey }: Omit<RuleChange, "changes">,
  dependencies: RuleDependencies,
): Promise<void> {
  const { accountId } = actor;
  await runIdempotent(dependencies.database, { actor, idempotencyKey }, async (transaction) => {
    const apply: ApplyChange = async ({ name }) => {
      await deleteTrustRule(transaction, { accountId, id: ruleId });
      const event = { type: "trust-rule-deleted", rule: ruleId, name } as const;
      dependencies.audit.record(transaction, { accountId, by: actor, event });
    };
    await endRule(transaction, { actor, ruleId, keepsTokens: false, apply }, dependencies);
    return {};
  });
}

type ApplyChange = (rule: TrustRule, epochs: Epochs) => Promise<void>;

type RuleEnding = {
  readonly actor: Actor;
  readonly ruleId: string;
  readonly keepsTokens: boolean;
  readonly apply: ApplyChange;
};

/** Ends a rule as it is, in a new epoch, so that it cannot be put back, and its tokens with it. */
async function endRule(
  transaction: Transaction,
  { actor, ruleId, keepsTokens, apply }: RuleEnding,
  { audit, serverKeys: { rowMacs } }: RuleDependencies,
): Promise<void> {
  const { accountId } = actor;
  const revoked = await inNewEpoch(transaction, { accountId, rowMacs }, async (epochs) => {
    const rule = await findTrustRule(transaction, { accountId, id: ruleId });
    if (rule === undefined) throw requestFailure({ kind: "not-found" });
    await apply(rule, epochs);
    const tokenRoute = { accountId, tokenId: ruleId };
    const result = keepsTokens ? [] : await revokeTokens(transaction, tokenRoute, "asked");
    const ids = new Set(result.map(({ id }) => id));
    return {
      result,
      isRevoked: (row) =>
        "token" in row ? ids.has(row.token.id) : "trustRule" in row && row.trustRule.id === ruleId,
    };
  });
  await reportRevokedTokens(transaction, { accountId, by: actor, revoked }, audit);
}

/**
 * The tokens of an organisation's rule are the organisation's, and whoever says which workloads get them could be one: a
 * member can grant by a rule what they can by such a token. A person's account has no limits.
 */
function assertMayGrant(actor: Actor, { scopes, vaultIds, paths }: RuleSpec): void {
  if (actor.personId === undefined) return;
  assertMayIssue(actor, { scopes, vaultIds, paths, addresses: null, expiresAt: null });
}

export function assertSafe(spec: RuleSpec): void {
  const errors = findUnsafeCriteria(spec);
  if (errors.length > 0) throw requestFailure({ kind: "request-invalid", errors });
  assertValidSpec({ paths: spec.paths, addresses: null, expiresAt: null });
}

async function assertVaultsExist(
  transaction: Transaction,
  accountId: string,
  { vaultIds }: Pick<RuleSpec, "vaultIds">,
): Promise<void> {
  if (vaultIds === null || (await countVaults(transaction, accountId, vaultIds)) === vaultIds.length) return;
  const errors = [{ field: "vault_ids", reason: "must contain only existing vaults" }];
  throw requestFailure({ kind: "request-invalid", errors });
}

/** Throws "not found" for another account's rule. */
export async function getRule(
  database: Pick<Database, "inAccount">,
  accountId: string,
  ruleId: string,
): Promise<TrustRule> {
  const rule = await database.inAccount(accountId, (transaction) =>
    findTrustRule(transaction, { accountId, id: ruleId }),
  );
  if (rule === undefined) throw requestFailure({ kind: "not-found" });
  return rule;
}
