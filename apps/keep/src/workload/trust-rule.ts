/**
 * @module
 * Workload identity: programs on a platform that signs tokens for them (GitHub Actions, GitLab CI, Kubernetes, any OpenID
 * Connect issuer) exchange such a token for a short-lived one of Keep, by the trust rules of an account, which is a person's
 * or an organisation. Guarantees that a token is accepted only with a signature of the rule's issuer, for this account alone, and once; and that what was
 * issued by a rule ends with it.
 * Imported by `routes.ts`, `server.ts` and `commands/serve.ts`.
 */
import type { AccountRow, TrustRuleRow } from "../keys/row-integrity/row-macs.ts";

export type ClaimCondition = { readonly claim: string; readonly values: readonly string[] };

type WorkloadProvider = "github" | "gitlab" | "kubernetes" | "generic";

/** A rule as stored. */
export type TrustRule = TrustRuleRow & {
  readonly provider: WorkloadProvider;
  readonly name: string;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly changedAt: Date | null;
  readonly mac: Buffer | null;
};

/** What decides whether a token matches. */
export type TokenCriteria = Pick<TrustRule, "provider" | "issuer" | "conditions">;

/** The only claim of which a value may end with `*`. */
export const wildcardClaim = "ref";

/**
 * The event of a workflow that runs with the rights of a repository, on the code of whoever opened a pull request. Its
 * tokens name the branch that the pull request is for.
 */
export const refusedEvent = "pull_request_target";

/** For which a token of a platform is meant: a person's account, or an organisation. */
export type AudienceAccount = Pick<AccountRow, "accountId" | "kind">;

const segments = { person: "accounts", organisation: "organisations" } as const;

/** The audience of every token for the account, which makes it useless for other accounts and servers. */
export function audienceOf(publicUrl: URL, { accountId, kind }: AudienceAccount): string {
  return `${publicUrl.origin}/${segments[kind]}/${accountId}`;
}
