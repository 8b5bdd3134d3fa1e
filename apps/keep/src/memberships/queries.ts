import type { Database } from "../database/open-database.ts";
import type { Signed } from "../keys/row-integrity/queries.ts";
import type { IdentityRow } from "../keys/row-integrity/row-macs.ts";

/** A due time beyond this was not written by Keep. */
const maxDueHours = 2;

/** True for one node, which then has this long for the check before another one starts it. */
export async function claimCheck(database: Pick<Database, "query">, seconds: number): Promise<boolean> {
  const rows = await database.query({
    name: "claim-membership-check",
    text: `UPDATE membership_check SET due_at = now() + make_interval(secs => $1) WHERE due_at <= now() OR due_at > now() + interval '${maxDueHours} hours' RETURNING is_only`,
    values: [seconds],
  });
  return rows.length > 0;
}

/** Keeps other nodes from starting the check while this node runs it. */
export async function extendCheck(database: Pick<Database, "query">, seconds: number): Promise<void> {
  await database.query({
    text: "UPDATE membership_check SET due_at = greatest(due_at, now() + make_interval(secs => $1))",
    values: [seconds],
  });
}

type FinishedCheck = { readonly nextSeconds: number; readonly hasSucceeded: boolean };

export async function finishCheck(
  database: Pick<Database, "query">,
  { nextSeconds, hasSucceeded }: FinishedCheck,
): Promise<void> {
  await database.query({
    text: "UPDATE membership_check SET due_at = now() + make_interval(secs => $1), succeeded_at = CASE WHEN $2 THEN now() ELSE succeeded_at END",
    values: [nextSeconds, hasSucceeded],
  });
}

/** Since the last check, on any node, that found out about everyone. */
export async function readSecondsSinceCheck(database: Pick<Database, "query">): Promise<number> {
  const [row] = await database.query<{ seconds: number | null }>({
    text: "SELECT extract(epoch FROM now() - succeeded_at)::float8 AS seconds FROM membership_check",
  });
  return row?.seconds ?? Number.NaN;
}

export type CheckedIdentity = Signed<IdentityRow>;

/** An account with a session or token that works, and all its identities. */
export type CheckedAccount = {
  readonly accountId: string;
  readonly epoch: number;
  readonly identities: readonly CheckedIdentity[];
};

type CheckedRow = CheckedIdentity & { readonly epoch: number };

const pageAccounts = 200;

/** Accounts after this one in the order of their ids, except those of operators. An empty page is the last one. */
export async function listCheckedAccounts(
  database: Pick<Database, "acrossAccounts">,
  after: string | undefined,
): Promise<readonly CheckedAccount[]> {
  const rows = await database.acrossAccounts((transaction) =>
    transaction.query<CheckedRow>({
      text: `SELECT page.account_id AS "accountId", page.epoch, identity.id, provider, issuer, subject, admitted_by AS "admittedBy", confirmed_at AS "confirmedAt", identity.mac
        FROM (SELECT account_id, epoch FROM account
          WHERE status = 'active' AND NOT is_operator AND ($1::uuid IS NULL OR account_id > $1)
            AND EXISTS (SELECT FROM identity WHERE identity.account_id = account.account_id)
            AND (EXISTS (SELECT FROM session WHERE session.account_id = account.account_id AND ended_at IS NULL AND idle_until > now() AND absolute_until > now())
              OR EXISTS (SELECT FROM api_token WHERE api_token.account_id = account.account_id AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())))
          ORDER BY account_id LIMIT ${pageAccounts}) AS page
        JOIN identity USING (account_id) ORDER BY account_id, identity.id`,
      values: [after ?? null],
    }),
  );
  const byAccount = Map.groupBy(rows, ({ accountId }) => accountId);
  return [...byAccount].map(([accountId, identities]) => ({
    accountId,
    epoch: identities[0]?.epoch ?? 0,
    identities: identities.map(({ epoch: _epoch, ...identity }) => identity),
  }));
}
