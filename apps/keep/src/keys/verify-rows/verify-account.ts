import type { AccountRow } from "../row-integrity/row-macs.ts";
import type { LoggedAccount } from "./logged-account.ts";
import {
  listIdentities,
  listIdentityRoutes,
  listInvitations,
  listMemberRoutes,
  listMembers,
  listSessionRoutes,
  listSessions,
  listTokenRoutes,
  listTokens,
  listTrustRules,
  pageSizes,
  readAccountRow,
} from "./queries.ts";
import { readPages } from "./read-pages.ts";
import type { AccountContext, EpochCheck, RowVerifier } from "./row-verifier.ts";
import { verifyGrants, verifyTeams } from "./verify-grants.ts";

/** The account, and who may enter it. */
export async function verifyAccount(
  accountId: string,
  logged: LoggedAccount,
  verifier: RowVerifier,
): Promise<void> {
  const { database, report, rowMacs } = verifier;
  const row = await readAccountRow(database, accountId);
  if (row === undefined) return;
  const { mac, ...account } = row;
  if (account.status === "deleted") {
    if (!logged.isDeleted) report(`account ${accountId} is marked as deleted, but was not`);
    // Its identities, sessions and routes are gone; its tokens stay, without what their MACs covered.
    return;
  }
  if (!rowMacs.isGenuine({ account }, mac)) report(`account ${accountId} is not genuine`);
  else if (logged.isDeleted) report(`account ${accountId} was put back after it was deleted`);
  else verifyState(account, { logged, report });
  const context = { ...verifier, accountId, logged, epochs: createEpochCheck(account.epoch, verifier) };
  await Promise.all([
    verifyTokens(context),
    verifySessions(context),
    ...(account.kind === "person"
      ? [verifyIdentities(context)]
      : [verifyMembers(context), verifyTeams(context), verifyGrants(context)]),
    verifyTrustRules(context),
  ]);
}

/** A genuine row may be an earlier one. Records of what took a right away may be archived, and then say nothing. */
function verifyState(
  { accountId, status, isOperator }: AccountRow,
  { logged, report }: Pick<AccountContext, "logged" | "report">,
): void {
  if (logged.isSuspended && status === "active")
    report(`account ${accountId} was put back after it was suspended`);
  if (logged.isPaused && status === "active") report(`account ${accountId} was put back after it was paused`);
  if (logged.isNoOperator && isOperator)
    report(`account ${accountId} was put back after it was an operator's`);
}

/** Rows that are revoked or expired are deleted before an account has so many new epochs. */
const maxEpochsBack = 5000;

function createEpochCheck(epoch: number, { rowMacs }: Pick<RowVerifier, "rowMacs">): EpochCheck {
  return {
    isCurrent: (row, mac) => rowMacs.isGenuine({ ...row, epoch }, mac),
    isEarlier(row, mac) {
      for (let earlier = epoch - 1; earlier > 0 && earlier > epoch - maxEpochsBack; earlier -= 1)
        if (rowMacs.isGenuine({ ...row, epoch: earlier }, mac)) return true;
      return false;
    },
  };
}

async function verifyTokens({ database, report, accountId, logged, epochs }: AccountContext): Promise<void> {
  const routes = await listTokenRoutes(database, accountId);
  const routed = new Set(routes.map(({ tokenHash }) => tokenHash.toString("hex")));
  const ids = new Set<string>();
  const listed = readPages(pageSizes.rows, (last: { readonly id: string } | undefined) =>
    listTokens(database, accountId, last?.id ?? null),
  );
  for await (const { mac, tokenHash, isRevoked, ...token } of listed) {
    ids.add(token.id);
    const isCurrent = epochs.isCurrent({ token }, mac);
    if (isRevoked && isCurrent) report(`api_token ${token.id} is marked as revoked, but was not`);
    else if (!isCurrent && !(isRevoked && epochs.isEarlier({ token }, mac)))
      report(`api_token ${token.id} is not genuine`);
    if (!isRevoked && logged.revokedTokens.has(token.id))
      report(`api_token ${token.id} was put back after it was revoked`);
    if (!isRevoked && !routed.has(tokenHash.toString("hex")))
      report(`api_token ${token.id}: its route was removed`);
  }
  for (const { mac, isExpired, ...tokenRoute } of routes) {
    const isGenuine =
      epochs.isCurrent({ tokenRoute }, mac) || (isExpired && epochs.isEarlier({ tokenRoute }, mac));
    const name = `token_route ${tokenRoute.tokenHash.toString("hex")}`;
    if (!ids.has(tokenRoute.tokenId)) report(`${name} leads to no token`);
    else if (!isGenuine) report(`${name} of token ${tokenRoute.tokenId} is not genuine`);
  }
  for (const token of logged.tokens) if (!ids.has(token)) report(`api_token ${token} was removed`);
}

async function verifySessions({
  database,
  report,
  accountId,
  logged,
  epochs,
}: AccountContext): Promise<void> {
  const routes = new Map(
    (await listSessionRoutes(database, accountId)).map((route) => [route.sessionHash.toString("hex"), route]),
  );
  const listed = readPages(pageSizes.rows, (last: { readonly id: string } | undefined) =>
    listSessions(database, accountId, last?.id ?? null),
  );
  for await (const { mac, isEnded, isExpired, ...session } of listed) {
    const { id, sessionHash } = session;
    const isCurrent = epochs.isCurrent({ session }, mac);
    if (isEnded && isCurrent) report(`session ${id} is marked as ended, but was not`);
    else if (!isCurrent && !((isEnded || isExpired) && epochs.isEarlier({ session }, mac)))
      report(`session ${id} is not genuine`);
    if (!isEnded && logged.endedSessions.has(id)) report(`session ${id} was put back after it ended`);
    const name = sessionHash.toString("hex");
    if (!isEnded && routes.get(name)?.sessionId !== id)
      report(`session ${id}: its route was changed or removed`);
    routes.delete(name);
  }
  for (const { sessionId } of routes.values())
    report(`session_route of session ${sessionId} leads to no session`);
}

async function verifyIdentities({
  database,
  report,
  accountId,
  logged,
  epochs,
}: AccountContext): Promise<void> {
  const routes = new Map(
    (await listIdentityRoutes(database, accountId)).map((route) => [nameOf(route), route.identityId]),
  );
  const ids = new Set<string>();
  const listed = readPages(pageSizes.rows, (last: { readonly id: string } | undefined) =>
    listIdentities(database, accountId, last?.id ?? null),
  );
  for await (const { mac, ...identity } of listed) {
    const { id } = identity;
    ids.add(id);
    if (!epochs.isCurrent({ identity }, mac)) report(`identity ${id} is not genuine`);
    if (logged.unlinkedIdentities.has(id)) report(`identity ${id} was put back after it was unlinked`);
    if (routes.get(nameOf(identity)) !== id) report(`identity ${id}: its route was changed or removed`);
    routes.delete(nameOf(identity));
  }
  for (const id of routes.values()) report(`identity_route of identity ${id} leads to no identity`);
  if (ids.size === 0) report(`account ${accountId}: its identities were removed`);
  for (const id of logged.identities) if (!ids.has(id)) report(`identity ${id} was removed`);
}

async function verifyMembers({ database, report, accountId, logged, epochs }: AccountContext): Promise<void> {
  const routes = new Set(await listMemberRoutes(database, accountId));
  const ids = new Set<string>();
  const listed = readPages(pageSizes.rows, (last: { readonly personId: string } | undefined) =>
    listMembers(database, accountId, last?.personId ?? null),
  );
  for await (const { mac, ...member } of listed) {
    const { personId } = member;
    const name = `member ${personId} of ${accountId}`;
    ids.add(personId);
    if (!epochs.isCurrent({ member }, mac)) report(`${name} is not genuine`);
    if (logged.removedMembers.has(personId)) report(`${name} was put back after it was removed`);
    if (!routes.delete(personId)) report(`${name}: its route was removed`);
  }
  for (const id of routes) report(`member_route of ${id} leads to no member of ${accountId}`);
  for (const id of logged.members) if (!ids.has(id)) report(`member ${id} of ${accountId} was removed`);
  for (const { mac, isExpired, ...invitation } of await listInvitations(database, accountId)) {
    const isGenuine =
      epochs.isCurrent({ invitation }, mac) || (isExpired && epochs.isEarlier({ invitation }, mac));
    if (!isGenuine) report(`invitation ${invitation.id} is not genuine`);
    if (logged.endedInvitations.has(invitation.id))
      report(`invitation ${invitation.id} was put back after it was accepted or revoked`);
  }
}

/** A rule that was put back has the MAC of an earlier epoch. */
async function verifyTrustRules({ database, report, accountId, epochs }: AccountContext): Promise<void> {
  for (const { mac, ...trustRule } of await listTrustRules(database, accountId))
    if (!epochs.isCurrent({ trustRule }, mac)) report(`trust_rule ${trustRule.id} is not genuine`);
}

function nameOf({ issuer, subject }: { readonly issuer: string; readonly subject: string }): string {
  return JSON.stringify([issuer, subject]);
}
