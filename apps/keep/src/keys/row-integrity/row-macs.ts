/**
 * @module
 * MACs over the rows that decide who may do what, under a key that the database does not have. Guarantees that a row
 * which Keep did not write, or wrote for another account or purpose, is not accepted; and, by the account's epoch, that a
 * row which was put back after a revocation is not accepted either.
 * Imported by `tokens/`, `accounts/`, `sign-in/`, `workload/`, `secrets/`, `audit/` and `commands/`.
 */
import type { KeyObject } from "node:crypto";
import {
  type AssociatedData,
  computeMac,
  deriveMacKey,
  IntegrityError,
  verifyMac,
} from "@hearth-and-keep/envelope-crypto";

export type AccountRow = {
  readonly accountId: string;
  readonly kind: "person" | "organisation";
  readonly status: string;
  readonly isOperator: boolean;
  readonly epoch: number;
};

export type TokenRow = {
  readonly accountId: string;
  readonly id: string;
  readonly scopes: readonly string[];
  readonly vaultIds: readonly string[] | null;
  readonly paths: readonly string[] | null;
  readonly addresses: readonly string[] | null;
  readonly expiresAt: Date | null;
  readonly parentId: string | null;
  /** The account of the member to whom a token of an organisation belongs. */
  readonly ownerId: string | null;
};

export type TokenRouteRow = {
  readonly accountId: string;
  readonly tokenId: string;
  readonly tokenHash: Buffer;
  readonly validUntil: Date | null;
};

/** Without the idle timeout, which every use extends. */
export type SessionRow = {
  readonly accountId: string;
  readonly id: string;
  readonly sessionHash: Buffer;
  readonly identityId: string;
  readonly authenticatedAt: Date;
  readonly absoluteUntil: Date;
};

export type IdentityRow = {
  readonly accountId: string;
  readonly id: string;
  readonly provider: string;
  readonly issuer: string;
  readonly subject: string;
  /** By which rule the last admitted sign-in was admitted; null unless it was decided by rules. */
  readonly admittedBy: AdmittedBy | null;
  /** When the membership was last confirmed, if an organization admitted it. */
  readonly confirmedAt: Date | null;
};

/** "none" is an identity that was linked although no rule admits it. */
export type AdmittedBy = "organization" | "other-rule" | "none";

/** Of an organisation. */
export type MemberRow = {
  readonly accountId: string;
  /** The account of the person. */
  readonly personId: string;
  readonly role: string;
  readonly teamIds: readonly string[];
  /** Those of the teams that a group of the provider put the person in, not an owner. */
  readonly groupTeamIds: readonly string[];
};

/** Which group of the provider fills a team of an organisation. Teams that no group fills have no MAC. */
export type TeamGroupRow = {
  readonly accountId: string;
  readonly teamId: string;
  readonly externalGroup: string;
};

/** All grants of a vault of an organisation. */
export type VaultAccessRow = {
  readonly accountId: string;
  readonly vaultId: string;
  /** JSON. */
  readonly grants: string;
};

export type InvitationRow = {
  readonly accountId: string;
  readonly id: string;
  readonly secretHash: Buffer;
  readonly role: string;
  readonly identity: string | null;
  readonly invitedBy: string;
  readonly expiresAt: Date;
};

/** Which tokens of a platform are exchanged, and for what. */
export type TrustRuleRow = {
  readonly accountId: string;
  readonly id: string;
  readonly provider: string;
  readonly issuer: string;
  readonly conditions: readonly { readonly claim: string; readonly values: readonly string[] }[];
  /** Uploaded keys as JSON; null if they come from the issuer. */
  readonly jwks: string | null;
  readonly scopes: readonly string[];
  readonly vaultIds: readonly string[] | null;
  readonly paths: readonly string[] | null;
  readonly lifetimeSeconds: number;
};

/** A change that waits for a second person. The fingerprint covers what it does, which is encrypted. */
export type ProposedChangeRow = {
  readonly accountId: string;
  readonly vaultId: string;
  readonly id: string;
  readonly proposerKind: "session" | "token";
  readonly proposerId: string;
  readonly personId: string | null;
  readonly barredPeople: readonly string[];
  readonly paths: readonly string[];
  readonly isVaultWide: boolean;
  readonly reason: string;
  readonly operationCount: number;
  readonly fingerprint: Buffer;
  readonly proposedAt: Date;
  readonly expiresAt: Date;
};

/** What became of a proposed change. */
export type ChangeDecision = { readonly state: string; readonly decidedBy: string };

/** A row whose MAC contains the epoch of its account. */
export type RowOfEpoch =
  | { readonly token: TokenRow }
  | { readonly tokenRoute: TokenRouteRow }
  | { readonly session: SessionRow }
  | { readonly identity: IdentityRow }
  | { readonly member: MemberRow }
  | { readonly teamGroup: TeamGroupRow }
  | { readonly vaultAccess: VaultAccessRow }
  | { readonly invitation: InvitationRow }
  | { readonly trustRule: TrustRuleRow };

type AuthenticatedRow =
  | { readonly account: AccountRow }
  /** The text of an audit record. */
  | { readonly auditRecord: string }
  /** Pending, with how many changes of its vault were decided; or decided. */
  | { readonly proposedChange: ProposedChangeRow; readonly status: number | ChangeDecision }
  | (RowOfEpoch & { readonly epoch: number });

export type RowMacs = {
  compute(row: AuthenticatedRow): Buffer;
  /** False also without a MAC. */
  isGenuine(row: AuthenticatedRow, mac: Buffer | null): boolean;
};

export function createRowMacs(integrityKey: KeyObject): RowMacs {
  const macKey = deriveMacKey(integrityKey);
  return {
    compute: (row) => computeMac(macKey, fieldsOf(row)),
    isGenuine(row, mac) {
      try {
        verifyMac(mac ?? Buffer.alloc(0), macKey, fieldsOf(row));
        return true;
      } catch (error) {
        if (error instanceof IntegrityError) return false;
        throw error;
      }
    },
  };
}

/** Everything that decides, and nothing that only informs, such as names and times of use. */
function fieldsOf(row: AuthenticatedRow): AssociatedData {
  if ("account" in row) {
    const { accountId, kind, status, isOperator, epoch } = row.account;
    // Without fields for other accounts, so that the MACs of earlier versions stay valid.
    const properties = [...(isOperator ? ["operator"] : []), ...(kind === "person" ? [] : [kind])];
    return ["account", accountId, status, epoch, ...properties];
  }
  if ("auditRecord" in row) return ["audit-record", row.auditRecord];
  if ("proposedChange" in row) return fieldsOfChange(row.proposedChange, row.status);
  const { epoch } = row;
  if ("token" in row) {
    const { accountId, id, scopes, vaultIds, paths, addresses, expiresAt, parentId, ownerId } = row.token;
    const limits = JSON.stringify([scopes, vaultIds, paths, addresses]);
    // Without a field for tokens of no member, so that the MACs of earlier versions stay valid.
    const owner = ownerId === null ? [] : [ownerId];
    return ["token", accountId, id, epoch, limits, timeOf(expiresAt), parentId ?? "", ...owner];
  }
  if ("tokenRoute" in row) {
    const { accountId, tokenId, tokenHash, validUntil } = row.tokenRoute;
    return ["token-route", accountId, tokenId, epoch, tokenHash.toString("hex"), timeOf(validUntil)];
  }
  if ("session" in row) {
    const { accountId, id, sessionHash, identityId, authenticatedAt, absoluteUntil } = row.session;
    const times = [timeOf(authenticatedAt), timeOf(absoluteUntil)] as const;
    return ["session", accountId, id, epoch, sessionHash.toString("hex"), identityId, ...times];
  }
  if ("member" in row) {
    const { accountId, personId, role, teamIds, groupTeamIds } = row.member;
    // Without fields for members of no team or group, so that the MACs of earlier versions stay valid.
    const fromGroups = groupTeamIds.map((id) => `group:${id}`);
    return ["member", accountId, personId, epoch, role, ...teamIds, ...fromGroups];
  }
  if ("teamGroup" in row) {
    const { accountId, teamId, externalGroup } = row.teamGroup;
    return ["team-group", accountId, teamId, epoch, externalGroup];
  }
  if ("vaultAccess" in row) {
    const { accountId, vaultId, grants } = row.vaultAccess;
    return ["vault-access", accountId, vaultId, epoch, grants];
  }
  if ("invitation" in row) {
    const { accountId, id, secretHash, role, identity, invitedBy, expiresAt } = row.invitation;
    const limits = [role, identity ?? "", invitedBy, timeOf(expiresAt)] as const;
    return ["invitation", accountId, id, epoch, secretHash.toString("hex"), ...limits];
  }
  if ("trustRule" in row) return [...fieldsOfRule(row.trustRule), epoch];
  const { accountId, id, provider, issuer, subject, admittedBy, confirmedAt } = row.identity;
  // Without these fields before the first sign-in that rules decided, so that the MACs of earlier versions stay valid.
  const admission = admittedBy === null ? [] : [admittedBy, timeOf(confirmedAt)];
  return ["identity", accountId, id, epoch, provider, issuer, subject, ...admission];
}

function fieldsOfRule({ accountId, id, provider, issuer, jwks, ...rule }: TrustRuleRow): AssociatedData {
  // The database does not keep the order of an object's members.
  const conditions = rule.conditions.map(({ claim, values }) => [claim, values]);
  const limits = JSON.stringify([conditions, rule.scopes, rule.vaultIds, rule.paths]);
  return ["trust-rule", accountId, id, provider, issuer, jwks ?? "", limits, rule.lifetimeSeconds];
}

function fieldsOfChange(
  { accountId, vaultId, id, fingerprint, ...change }: ProposedChangeRow,
  status: number | ChangeDecision,
): AssociatedData {
  const { proposerKind, proposerId, personId, barredPeople, paths, isVaultWide, reason } = change;
  const listed = JSON.stringify([barredPeople, paths, isVaultWide, reason, change.operationCount]);
  const times = [timeOf(change.proposedAt), timeOf(change.expiresAt)] as const;
  const proposer = [proposerKind, proposerId, personId ?? ""] as const;
  const state = typeof status === "number" ? (["pending", status] as const) : toFields(status);
  return [
    "proposed-change",
    accountId,
    vaultId,
    id,
    ...state,
    ...proposer,
    fingerprint.toString("hex"),
    listed,
    ...times,
  ];
}

function toFields({ state, decidedBy }: ChangeDecision): readonly [string, string] {
  return [state, decidedBy];
}

/** In milliseconds, as the driver reads it. */
function timeOf(moment: Date | null): number | string {
  return moment === null ? "" : moment.getTime();
}
