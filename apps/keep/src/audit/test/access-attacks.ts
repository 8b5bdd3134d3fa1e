import { newId } from "./attacked-keep.ts";
import { type Attacks, attack, copyRow, globalAttack, putBack, swap } from "./superuser-attack.ts";

const ofToken = (id: string): string => `id = '${id}'`;
const routeOf = (id: string): string => `token_id = '${id}'`;

export const tokenAttacks: Attacks = {
  "token inserted": ({ victim, hashes }) =>
    attack(
      `api_token ${newId} is not genuine`,
      copyRow("api_token", `stored.id = '${victim.token.id}'`, {
        id: newId,
        token_hash: `\\x${hashes.token}`,
        mac: null,
      }),
      copyRow("token_route", `stored.token_id = '${victim.token.id}'`, {
        token_id: newId,
        token_hash: `\\x${hashes.token}`,
        mac: null,
      }),
    ),
  "token inserted with the MACs of another": ({ victim, hashes }) =>
    attack(
      `api_token ${newId} is not genuine`,
      copyRow("api_token", `stored.id = '${victim.token.id}'`, {
        id: newId,
        token_hash: `\\x${hashes.token}`,
      }),
      copyRow("token_route", `stored.token_id = '${victim.token.id}'`, {
        token_id: newId,
        token_hash: `\\x${hashes.token}`,
      }),
    ),
  "token with more scopes": ({ victim }) =>
    attack(
      `api_token ${victim.limited.id} is not genuine`,
      `UPDATE api_token SET scopes = '{secrets:read,secrets:write}' WHERE ${ofToken(victim.limited.id)}`,
    ),
  "token without its paths and vaults": ({ victim }) =>
    attack(
      `api_token ${victim.limited.id} is not genuine`,
      `UPDATE api_token SET paths = NULL, vault_ids = NULL WHERE ${ofToken(victim.limited.id)}`,
    ),
  "token without its addresses": ({ victim }) =>
    attack(
      `api_token ${victim.bound.id} is not genuine`,
      `UPDATE api_token SET addresses = NULL WHERE ${ofToken(victim.bound.id)}`,
    ),
  "token without its expiry": ({ victim }) =>
    attack(
      `api_token ${victim.expired.id} is not genuine`,
      `UPDATE api_token SET expires_at = NULL WHERE ${ofToken(victim.expired.id)}`,
    ),
  "token moved to another account": ({ victim, attacker }) =>
    attack(
      `api_token ${attacker.token.id} is not genuine`,
      `UPDATE api_token SET account_id = '${victim.account}' WHERE ${ofToken(attacker.token.id)}`,
      `UPDATE token_route SET account_id = '${victim.account}' WHERE ${routeOf(attacker.token.id)}`,
    ),
  "token with another parent": ({ victim }) =>
    attack(
      `api_token ${victim.logged.id} is not genuine`,
      `UPDATE api_token SET parent_id = '${newId}' WHERE ${ofToken(victim.logged.id)}`,
    ),
  "token without its MAC": ({ victim }) =>
    attack(
      `api_token ${victim.token.id} is not genuine`,
      `UPDATE api_token SET mac = NULL WHERE ${ofToken(victim.token.id)}`,
    ),
  "MACs of two tokens swapped": ({ victim, attacker }) =>
    attack(
      `api_token ${victim.token.id} is not genuine`,
      swap("api_token", "mac", { one: ofToken(victim.token.id), other: ofToken(attacker.token.id) }),
    ),
  "revoked token made live": ({ victim }) =>
    attack(
      `api_token ${victim.revoked.id} was put back after it was revoked`,
      `UPDATE api_token SET revoked_at = NULL, revoke_reason = NULL WHERE ${ofToken(victim.revoked.id)}`,
    ),
  "revoked token rolled back with its route": ({ victim }) =>
    attack(
      `api_token ${victim.revoked.id} is not genuine`,
      ...putBack("api_token", ofToken(victim.revoked.id)),
      ...putBack("token_route", routeOf(victim.revoked.id)),
    ),
  "revoked token with other scopes": ({ victim }) =>
    attack(
      `api_token ${victim.revoked.id} is not genuine`,
      `UPDATE api_token SET scopes = '{secrets:write}' WHERE ${ofToken(victim.revoked.id)}`,
    ),
  "token marked as revoked": ({ victim }) =>
    attack(
      `api_token ${victim.token.id} is marked as revoked, but was not`,
      `UPDATE api_token SET revoked_at = now(), revoke_reason = 'asked' WHERE ${ofToken(victim.token.id)}`,
    ),
  "token deleted": ({ victim }) =>
    attack("leads to no token", `DELETE FROM api_token WHERE ${ofToken(victim.token.id)}`),
  "token deleted with its route": ({ victim }) =>
    attack(
      `api_token ${victim.logged.id} was removed`,
      `DELETE FROM api_token WHERE ${ofToken(victim.logged.id)}`,
      `DELETE FROM token_route WHERE ${routeOf(victim.logged.id)}`,
    ),
  "tokens truncated": ({ victim }) =>
    globalAttack(`api_token ${victim.logged.id} was removed`, "TRUNCATE api_token"),
  "attacker's value leads to the victim's token": ({ victim, attacker }) =>
    attack(
      `of token ${victim.token.id} is not genuine`,
      `UPDATE token_route SET account_id = '${victim.account}', token_id = '${victim.token.id}' WHERE ${routeOf(attacker.token.id)}`,
    ),
  "value inserted for a token": ({ victim, hashes }) =>
    attack(
      `token_route ${hashes.token} of token ${victim.token.id} is not genuine`,
      copyRow("token_route", `stored.token_id = '${victim.token.id}'`, { token_hash: `\\x${hashes.token}` }),
    ),
  "value of a rotated token made valid": ({ victim }) =>
    attack(
      `of token ${victim.rotated.id} is not genuine`,
      `UPDATE token_route SET valid_until = NULL WHERE ${routeOf(victim.rotated.id)} AND valid_until IS NOT NULL`,
    ),
  "value of a rotated token rolled back": ({ victim }) =>
    attack(
      `of token ${victim.rotated.id} is not genuine`,
      ...putBack("token_route", routeOf(victim.rotated.id)),
    ),
  "value of a token expired": ({ victim }) =>
    attack(
      `of token ${victim.token.id} is not genuine`,
      `UPDATE token_route SET valid_until = now() - interval '1 minute' WHERE ${routeOf(victim.token.id)}`,
    ),
  "route of a token without its MAC": ({ victim }) =>
    attack(
      `of token ${victim.token.id} is not genuine`,
      `UPDATE token_route SET mac = NULL WHERE ${routeOf(victim.token.id)}`,
    ),
  "route of a token deleted": ({ victim }) =>
    attack(
      `api_token ${victim.token.id}: its route was removed`,
      `DELETE FROM token_route WHERE ${routeOf(victim.token.id)}`,
    ),
  "routes of tokens truncated": ({ victim }) =>
    globalAttack(`api_token ${victim.token.id}: its route was removed`, "TRUNCATE token_route"),
};

const ofSession = (id: string): string => `id = '${id}'`;

export const sessionAttacks: Attacks = {
  "session inserted": ({ victim, hashes }) =>
    attack(
      `session ${newId} is not genuine`,
      copyRow("session", `stored.id = '${victim.session.id}'`, {
        id: newId,
        session_hash: `\\x${hashes.session}`,
      }),
      copyRow("session_route", `stored.session_id = '${victim.session.id}'`, {
        session_id: newId,
        session_hash: `\\x${hashes.session}`,
      }),
    ),
  "session moved to another account": ({ victim, attacker }) =>
    attack(
      `session ${attacker.session.id} is not genuine`,
      `UPDATE session SET account_id = '${victim.account}' WHERE ${ofSession(attacker.session.id)}`,
      `UPDATE session_route SET account_id = '${victim.account}' WHERE session_id = '${attacker.session.id}'`,
    ),
  "session with a later end": ({ victim }) =>
    attack(
      `session ${victim.session.id} is not genuine`,
      `UPDATE session SET absolute_until = absolute_until + interval '1 year' WHERE ${ofSession(victim.session.id)}`,
    ),
  "session with a later sign-in": ({ victim }) =>
    attack(
      `session ${victim.session.id} is not genuine`,
      `UPDATE session SET authenticated_at = now() + interval '1 hour' WHERE ${ofSession(victim.session.id)}`,
    ),
  "session of another identity": ({ victim, attacker }) =>
    attack(
      `session ${victim.session.id} is not genuine`,
      `UPDATE session SET identity_id = '${attacker.identity}' WHERE ${ofSession(victim.session.id)}`,
    ),
  "session without its MAC": ({ victim }) =>
    attack(
      `session ${victim.session.id} is not genuine`,
      `UPDATE session SET mac = NULL WHERE ${ofSession(victim.session.id)}`,
    ),
  "ended session made live": ({ victim }) =>
    attack(
      `session ${victim.ended.id} was put back after it ended`,
      `UPDATE session SET ended_at = NULL WHERE ${ofSession(victim.ended.id)}`,
    ),
  "ended session rolled back": ({ victim }) =>
    attack(
      `session ${victim.ended.id} is not genuine`,
      ...putBack("session", ofSession(victim.ended.id)),
      ...putBack("session_route", `session_id = '${victim.ended.id}'`),
    ),
  "session marked as ended": ({ victim }) =>
    attack(
      `session ${victim.session.id} is marked as ended, but was not`,
      `UPDATE session SET ended_at = now() WHERE ${ofSession(victim.session.id)}`,
    ),
  "attacker's cookie leads to the victim's session": ({ victim, attacker }) =>
    attack(
      `session_route of session ${victim.session.id} leads to no session`,
      `UPDATE session_route SET account_id = '${victim.account}', session_id = '${victim.session.id}' WHERE session_id = '${attacker.session.id}'`,
    ),
  "route of a session deleted": ({ victim }) =>
    attack(
      `session ${victim.session.id}: its route was changed or removed`,
      `DELETE FROM session_route WHERE session_id = '${victim.session.id}'`,
    ),
  "sessions truncated": ({ victim }) =>
    globalAttack(`session_route of session ${victim.session.id} leads to no session`, "TRUNCATE session"),
};

export const identityAttacks: Attacks = {
  "identity inserted": ({ victim, attacker }) => ({
    ...attack(
      `identity ${newId} is not genuine`,
      copyRow("identity", `stored.id = '${attacker.identity}'`, { account_id: victim.account, id: newId }),
      `UPDATE identity_route SET account_id = '${victim.account}', identity_id = '${newId}' WHERE identity_id = '${attacker.identity}'`,
    ),
    signsIn: true,
  }),
  "identity moved to another account": ({ victim, attacker }) => ({
    ...attack(
      `identity ${attacker.identity} is not genuine`,
      `UPDATE identity SET account_id = '${victim.account}' WHERE id = '${attacker.identity}'`,
      `UPDATE identity_route SET account_id = '${victim.account}' WHERE identity_id = '${attacker.identity}'`,
    ),
    signsIn: true,
  }),
  "attacker's subject leads to the victim's identity": ({ victim, attacker }) => ({
    ...attack(
      `identity_route of identity ${victim.identity} leads to no identity`,
      `UPDATE identity_route SET account_id = '${victim.account}', identity_id = '${victim.identity}' WHERE identity_id = '${attacker.identity}'`,
    ),
    signsIn: true,
  }),
  "identity with the attacker's subject": ({ victim, attacker }) => ({
    ...attack(
      `identity ${victim.identity} is not genuine`,
      `UPDATE identity SET subject = '${attacker.person.subject}' WHERE id = '${victim.identity}'`,
      `UPDATE identity_route SET account_id = '${victim.account}', identity_id = '${victim.identity}' WHERE identity_id = '${attacker.identity}'`,
    ),
    signsIn: true,
  }),
  "identity without its MAC": ({ victim }) =>
    attack(
      `identity ${victim.identity} is not genuine`,
      `UPDATE identity SET mac = NULL WHERE id = '${victim.identity}'`,
    ),
  "identity deleted": ({ victim }) =>
    attack(
      `account ${victim.account}: its identities were removed`,
      `DELETE FROM identity WHERE id = '${victim.identity}'`,
    ),
  "route of an identity deleted": ({ victim }) =>
    attack(
      `identity ${victim.identity}: its route was changed or removed`,
      `DELETE FROM identity_route WHERE identity_id = '${victim.identity}'`,
    ),
};

export const accountAttacks: Attacks = {
  "account disabled": ({ victim }) =>
    attack(
      `account ${victim.account} is not genuine`,
      `UPDATE account SET status = 'disabled' WHERE account_id = '${victim.account}'`,
    ),
  "account made an operator's": ({ victim }) =>
    attack(
      `account ${victim.account} is not genuine`,
      `UPDATE account SET is_operator = true WHERE account_id = '${victim.account}'`,
    ),
  "epoch of an account rolled back, with a revoked token": ({ victim }) =>
    attack(
      `account ${victim.account} is not genuine`,
      `UPDATE account SET epoch = epoch - 1 WHERE account_id = '${victim.account}'`,
      ...putBack("api_token", ofToken(victim.revoked.id)),
      ...putBack("token_route", routeOf(victim.revoked.id)),
    ),
  "account without its MAC": ({ victim }) =>
    attack(
      `account ${victim.account} is not genuine`,
      `UPDATE account SET mac = NULL WHERE account_id = '${victim.account}'`,
    ),
  "MACs of two accounts swapped": ({ victim, attacker }) =>
    attack(
      `account ${victim.account} is not genuine`,
      swap("account", "mac", {
        one: `account_id = '${victim.account}'`,
        other: `account_id = '${attacker.account}'`,
      }),
    ),
  "account marked as deleted": ({ victim }) =>
    attack(
      `account ${victim.account} is marked as deleted, but was not`,
      `UPDATE account SET status = 'deleted', mac = NULL, epoch = epoch + 1, audit_erased_at = now() WHERE account_id = '${victim.account}'`,
    ),
  "account removed": ({ victim }) =>
    attack(
      `account ${victim.account} was removed`,
      `DELETE FROM account WHERE account_id = '${victim.account}'`,
    ),
  "accounts truncated": ({ victim }) =>
    globalAttack(`account ${victim.account} was removed`, "DELETE FROM account"),
};

/** What no MAC, head or record of the log covers. Nobody gets a right by it that they did not have. */
export const unnamedChanges: Attacks = {
  "a session deleted with its route, which signs the person out": ({ victim }) =>
    attack(
      "",
      `DELETE FROM session WHERE ${ofSession(victim.session.id)}`,
      `DELETE FROM session_route WHERE session_id = '${victim.session.id}'`,
    ),
  "the idle end of a session moved, up to its absolute end": ({ victim }) =>
    attack(
      "",
      `UPDATE session SET idle_until = absolute_until, last_seen_at = now() WHERE ${ofSession(victim.session.id)}`,
    ),
  "names, addresses and times that are only shown": ({ victim }) =>
    attack(
      "",
      `UPDATE api_token SET name = 'Other', last_used_at = now() WHERE account_id = '${victim.account}'`,
      `UPDATE account SET display_name = 'Other' WHERE account_id = '${victim.account}'`,
      `UPDATE secret_version SET created_at = now(), created_by = 'other' WHERE account_id = '${victim.account}'`,
    ),
  "counters of what a vault stores": ({ victim }) =>
    attack("", `UPDATE vault SET stored_bytes = 0, live_secrets = 0 WHERE id = '${victim.vault}'`),
};
