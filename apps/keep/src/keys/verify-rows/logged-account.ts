import type { Database } from "../../database/open-database.ts";
import { type LoggedEvent, listAccountEvents, pageSizes } from "./queries.ts";
import { readPages } from "./read-pages.ts";

/** What the log says of an account. */
export type LoggedAccount = {
  /** Created, and neither revoked nor so old that they may have been deleted after their expiry. */
  readonly tokens: ReadonlySet<string>;
  readonly revokedTokens: ReadonlySet<string>;
  readonly endedSessions: ReadonlySet<string>;
  /** Linked, and not unlinked. */
  readonly identities: ReadonlySet<string>;
  readonly unlinkedIdentities: ReadonlySet<string>;
  /** Created here or transferred to here, and neither purged nor transferred to elsewhere. */
  readonly vaults: ReadonlySet<string>;
  readonly purgedVaults: ReadonlySet<string>;
  /** To another account. */
  readonly transferredVaults: ReadonlySet<string>;
  /** Of an organisation: added, and not removed. */
  readonly members: ReadonlySet<string>;
  readonly removedMembers: ReadonlySet<string>;
  /** Created, and not deleted. */
  readonly teams: ReadonlySet<string>;
  /** Those that a group fills. */
  readonly filledTeams: ReadonlySet<string>;
  /** Accepted or revoked. */
  readonly endedInvitations: ReadonlySet<string>;
  readonly isSuspended: boolean;
  readonly isPaused: boolean;
  /** It was an operator's, and is no longer. */
  readonly isNoOperator: boolean;
  readonly isDeleted: boolean;
};

/** Tokens are deleted this long after their expiry. */
const tokenRetentionDays = 90;

export async function foldAccountEvents(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
): Promise<LoggedAccount> {
  const state = {
    tokens: new Set<string>(),
    revokedTokens: new Set<string>(),
    endedSessions: new Set<string>(),
    identities: new Set<string>(),
    unlinkedIdentities: new Set<string>(),
    vaults: new Set<string>(),
    purgedVaults: new Set<string>(),
    transferredVaults: new Set<string>(),
    members: new Set<string>(),
    removedMembers: new Set<string>(),
    teams: new Set<string>(),
    filledTeams: new Set<string>(),
    endedInvitations: new Set<string>(),
    isSuspended: false,
    isPaused: false,
    isNoOperator: false,
    isDeleted: false,
  };
  const since = (Date.now() - tokenRetentionDays * 86_400_000) * 1000;
  const events = readPages(pageSizes.events, (last: LoggedEvent | undefined) =>
    listAccountEvents(database, accountId, last?.number ?? 0),
  );
  for await (const { number, body } of events) {
    const event = readEvent(body);
    const { type, token = "", session = "", identity = "", vault = "" } = event;
    if (type === "token-created" && number > since) state.tokens.add(token);
    if (type === "token-revoked") {
      state.tokens.delete(token);
      state.revokedTokens.add(token);
    }
    if (type === "session-ended") state.endedSessions.add(session);
    if (type === "identity-linked") state.identities.add(identity);
    if (type === "identity-unlinked") {
      state.identities.delete(identity);
      state.unlinkedIdentities.add(identity);
    }
    foldVaultEvent({ type, vault }, state);
    foldMemberEvent(event, state);
    if (type === "account-suspended" || type === "account-resumed")
      [state.isSuspended, state.isPaused] = [type === "account-suspended", false];
    if (type === "account-paused" || type === "account-unpaused") state.isPaused = type === "account-paused";
    if (type === "operator-added" || type === "operator-removed")
      state.isNoOperator = type === "operator-removed";
    if (type === "account-deleted") state.isDeleted = true;
  }
  return state;
}

type LoggedVaults = {
  readonly vaults: Set<string>;
  readonly purgedVaults: Set<string>;
  readonly transferredVaults: Set<string>;
};

function foldVaultEvent(
  { type, vault }: { readonly type: string | undefined; readonly vault: string },
  { vaults, purgedVaults, transferredVaults }: LoggedVaults,
): void {
  if (type === "vault-created" || type === "vault-transferred-in") {
    vaults.add(vault);
    transferredVaults.delete(vault);
  }
  if (type === "vault-purged" || type === "vault-transferred-out") {
    vaults.delete(vault);
    (type === "vault-purged" ? purgedVaults : transferredVaults).add(vault);
  }
}

type LoggedMembers = {
  readonly members: Set<string>;
  readonly removedMembers: Set<string>;
  readonly teams: Set<string>;
  readonly filledTeams: Set<string>;
  readonly endedInvitations: Set<string>;
};

function foldMemberEvent(
  { type, person = "", team = "", group, invitation = "" }: ReturnType<typeof readEvent>,
  { members, removedMembers, teams, filledTeams, endedInvitations }: LoggedMembers,
): void {
  if (type === "member-added") {
    members.add(person);
    removedMembers.delete(person);
  }
  if (type === "member-removed") {
    members.delete(person);
    removedMembers.add(person);
  }
  if (type === "team-created") teams.add(team);
  if (type === "team-deleted") {
    teams.delete(team);
    filledTeams.delete(team);
  }
  if (type === "team-group-changed") {
    if (group === undefined) filledTeams.delete(team);
    else filledTeams.add(team);
  }
  if (type === "invitation-accepted" || type === "invitation-revoked") endedInvitations.add(invitation);
}

/** The members of an event that are strings. A body that is not JSON was changed, which the verification of the log reports. */
export function readEvent(body: string): Readonly<Record<string, string | undefined>> {
  try {
    const event: unknown = JSON.parse(body);
    if (typeof event !== "object" || event === null) return {};
    return Object.fromEntries(Object.entries(event).filter(([, member]) => typeof member === "string"));
  } catch {
    return {};
  }
}
