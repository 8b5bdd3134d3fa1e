import { newId } from "./attacked-keep.ts";
import { type Attacks, attack, copyRow, flipBit, globalAttack, putBack, swap } from "./superuser-attack.ts";

const contents = ["secret", "secret_version", "vault_key", "folder"] as const;
const ofVault = (id: string): string => `vault_id = '${id}'`;
const headChanged = (vault: string): string => `vault ${vault} is not genuine: its row was changed`;
const secretsChanged = (vault: string): string =>
  `vault ${vault} is not genuine: secrets were added, removed or rolled back`;

export const vaultAttacks: Attacks = {
  "vault moved to another account": ({ victim, attacker }) =>
    attack(
      headChanged(victim.project),
      `UPDATE vault SET account_id = '${attacker.account}' WHERE id = '${victim.project}'`,
      ...contents.map(
        (table) => `UPDATE ${table} SET account_id = '${attacker.account}' WHERE ${ofVault(victim.project)}`,
      ),
    ),
  "vault renamed": ({ victim }) =>
    attack(headChanged(victim.vault), `UPDATE vault SET name = 'Other' WHERE id = '${victim.vault}'`),
  "settings of a vault changed": ({ victim }) =>
    attack(headChanged(victim.vault), `UPDATE vault SET most_versions = 1 WHERE id = '${victim.vault}'`),
  "revision of a vault raised": ({ victim }) =>
    attack(
      headChanged(victim.vault),
      `UPDATE vault SET revision = revision + 1 WHERE id = '${victim.vault}'`,
    ),
  "row of a vault rolled back": ({ victim }) =>
    attack(`vault ${victim.vault} was rolled back`, ...putBack("vault", `id = '${victim.vault}'`)),
  "head of a vault removed": ({ victim }) =>
    attack(headChanged(victim.vault), `UPDATE vault SET head = NULL WHERE id = '${victim.vault}'`),
  "heads of two vaults swapped": ({ victim }) =>
    attack(
      headChanged(victim.vault),
      swap("vault", "head", { one: `id = '${victim.vault}'`, other: `id = '${victim.project}'` }),
    ),
  "deleted vault made live": ({ victim }) =>
    attack(
      headChanged(victim.deletedVault),
      `UPDATE vault SET deleted_at = NULL, purge_after = NULL WHERE id = '${victim.deletedVault}'`,
    ),
  "deleted vault rolled back": ({ victim }) => ({
    ...attack(
      `vault ${victim.deletedVault} was rolled back`,
      ...putBack("vault", `id = '${victim.deletedVault}'`),
      ...contents.flatMap((table) => putBack(table, ofVault(victim.deletedVault))),
    ),
    isReadAgain: "anywhere",
  }),
  "vault marked as deleted": ({ victim }) =>
    attack(
      headChanged(victim.project),
      `UPDATE vault SET deleted_at = now(), purge_after = now() + interval '1 day' WHERE id = '${victim.project}'`,
    ),
  "vault removed with everything in it": ({ victim }) =>
    attack(
      `vault ${victim.project} was removed`,
      ...contents.map((table) => `DELETE FROM ${table} WHERE ${ofVault(victim.project)}`),
      `DELETE FROM vault WHERE id = '${victim.project}'`,
    ),
  "row of a vault removed": ({ victim }) =>
    attack(
      `secret ${victim.projectSecret} belongs to nothing`,
      `DELETE FROM vault WHERE id = '${victim.project}'`,
    ),
  "vault rolled back with everything in it": ({ victim }) => ({
    ...attack(
      `vault ${victim.vault} was rolled back`,
      ...putBack("vault", `id = '${victim.vault}'`),
      ...contents.flatMap((table) => putBack(table, ofVault(victim.vault))),
    ),
    isReadAgain: "after a restart",
  }),
  "vaults truncated": ({ victim }) =>
    globalAttack(`vault ${victim.project} was removed`, "DELETE FROM vault"),
};

const keyOf = (vault: string): string => `vault_key 1 of vault ${vault} is not genuine`;

export const keyAttacks: Attacks = {
  "data keys of two vaults swapped": ({ victim }) =>
    attack(
      keyOf(victim.vault),
      swap("vault_key", "wrapped", { one: ofVault(victim.vault), other: ofVault(victim.project) }),
    ),
  "data keys of two accounts swapped": ({ victim, attacker }) =>
    attack(
      keyOf(victim.vault),
      swap("vault_key", "wrapped", { one: ofVault(victim.vault), other: ofVault(attacker.vault) }),
    ),
  "data key changed": ({ victim }) =>
    attack(keyOf(victim.vault), `UPDATE vault_key SET ${flipBit("wrapped")} WHERE ${ofVault(victim.vault)}`),
  "data key deleted": ({ victim }) =>
    attack(
      `vault_key of vault ${victim.vault}: its newest key is not the only active one`,
      `DELETE FROM vault_key WHERE ${ofVault(victim.vault)}`,
    ),
  "data key retired": ({ victim }) =>
    attack(
      `vault_key of vault ${victim.vault}: its newest key is not the only active one`,
      `UPDATE vault_key SET status = 'retired' WHERE ${ofVault(victim.vault)}`,
    ),
  "data key not bound to its account": ({ victim }) =>
    attack(
      keyOf(victim.vault),
      `UPDATE vault_key SET bound_to_account = false WHERE ${ofVault(victim.vault)}`,
    ),
  "data key of another encryption key": ({ victim }) =>
    attack(
      keyOf(victim.vault),
      `UPDATE vault_key SET kek_fingerprint = '0000000000000000' WHERE ${ofVault(victim.vault)}`,
    ),
  "data key inserted": ({ victim }) =>
    attack(
      `vault_key 2 of vault ${victim.vault} is not genuine`,
      `INSERT INTO vault_key (account_id, vault_id, version, status, kek_fingerprint, wrapped, bound_to_account) SELECT account_id, vault_id, 2, 'retired', kek_fingerprint, wrapped, bound_to_account FROM vault_key WHERE ${ofVault(victim.vault)}`,
    ),
};

const ofSecret = (id: string): string => `id = '${id}'`;
const notGenuine = (id: string): string => `secret ${id} is not genuine`;

export const secretAttacks: Attacks = {
  "names of two secrets swapped": ({ victim }) =>
    attack(
      notGenuine(victim.secret),
      `UPDATE secret SET name = 'AWAY' WHERE ${ofSecret(victim.secret)}`,
      `UPDATE secret SET name = 'KEY' WHERE ${ofSecret(victim.otherSecret)}`,
      `UPDATE secret SET name = 'OTHER' WHERE ${ofSecret(victim.secret)}`,
    ),
  "secret renamed": ({ victim }) =>
    attack(notGenuine(victim.secret), `UPDATE secret SET name = 'RENAMED' WHERE ${ofSecret(victim.secret)}`),
  "secret moved to another vault and account": ({ victim, attacker }) =>
    attack(
      notGenuine(victim.otherSecret),
      `UPDATE secret SET account_id = '${attacker.account}', vault_id = '${attacker.vault}' WHERE ${ofSecret(victim.otherSecret)}`,
      `UPDATE secret_version SET account_id = '${attacker.account}', vault_id = '${attacker.vault}' WHERE secret_id = '${victim.otherSecret}'`,
    ),
  "secret moved to another vault": ({ victim }) =>
    attack(
      notGenuine(victim.otherSecret),
      `UPDATE secret SET vault_id = '${victim.project}' WHERE ${ofSecret(victim.otherSecret)}`,
      `UPDATE secret_version SET vault_id = '${victim.project}' WHERE secret_id = '${victim.otherSecret}'`,
    ),
  "secret rolled back": ({ victim }) =>
    attack(
      secretsChanged(victim.vault),
      ...putBack("secret", ofSecret(victim.secret)),
      ...putBack("secret_version", `secret_id = '${victim.secret}'`),
    ),
  "secret deleted with its versions": ({ victim }) =>
    attack(
      secretsChanged(victim.vault),
      `DELETE FROM secret_version WHERE secret_id = '${victim.otherSecret}'`,
      `DELETE FROM secret WHERE ${ofSecret(victim.otherSecret)}`,
    ),
  "secret inserted": ({ victim }) =>
    attack(
      secretsChanged(victim.vault),
      copyRow("secret", `stored.id = '${victim.secret}'`, { id: newId, name: "COPY" }),
      copyRow("secret_version", `stored.secret_id = '${victim.secret}'`, { secret_id: newId }),
    ),
  "deleted secret made live": ({ victim }) =>
    attack(
      notGenuine(victim.deletedSecret),
      `UPDATE secret SET deleted_at = NULL, purge_after = NULL WHERE ${ofSecret(victim.deletedSecret)}`,
    ),
  "secret marked as deleted": ({ victim }) =>
    attack(
      notGenuine(victim.secret),
      `UPDATE secret SET deleted_at = now(), purge_after = now() + interval '1 day' WHERE ${ofSecret(victim.secret)}`,
    ),
  "another current version": ({ victim }) =>
    attack(
      notGenuine(victim.secret),
      `UPDATE secret SET current_version = 2 WHERE ${ofSecret(victim.secret)}`,
    ),
  "another type": ({ victim }) =>
    attack(notGenuine(victim.secret), `UPDATE secret SET type = 'json' WHERE ${ofSecret(victim.secret)}`),
  "other tags": ({ victim }) =>
    attack(notGenuine(victim.secret), `UPDATE secret SET tags = '{}' WHERE ${ofSecret(victim.secret)}`),
  "note removed": ({ victim }) =>
    attack(
      notGenuine(victim.secret),
      `UPDATE secret SET note_sealed = NULL WHERE ${ofSecret(victim.secret)}`,
    ),
  "MACs of two secrets swapped": ({ victim }) =>
    attack(
      notGenuine(victim.secret),
      swap("secret", "mark", { one: ofSecret(victim.secret), other: ofSecret(victim.otherSecret) }),
    ),
  "secrets truncated": ({ victim }) =>
    globalAttack(secretsChanged(victim.vault), "TRUNCATE secret, secret_version"),
};

const version = (secret: string, number: number): string =>
  `(secret_id = '${secret}' AND version = ${number})`;
const versionOf = (secret: string, number: number): string =>
  `secret_version ${number} of secret ${secret} is not genuine`;

export const versionAttacks: Attacks = {
  "values of two versions swapped": ({ victim }) =>
    attack(
      versionOf(victim.secret, 3),
      swap("secret_version", "sealed", { one: version(victim.secret, 2), other: version(victim.secret, 3) }),
    ),
  "values of two secrets swapped": ({ victim }) =>
    attack(
      versionOf(victim.secret, 3),
      swap("secret_version", "sealed", {
        one: version(victim.secret, 3),
        other: version(victim.otherSecret, 2),
      }),
    ),
  "values of two accounts swapped": ({ victim, attacker }) =>
    attack(
      versionOf(victim.secret, 3),
      swap("secret_version", "sealed", {
        one: version(victim.secret, 3),
        other: version(attacker.secret, 1),
      }),
    ),
  "earlier value under the current version": ({ victim }) =>
    attack(
      versionOf(victim.secret, 3),
      `UPDATE secret_version SET sealed = (SELECT sealed FROM secret_version WHERE ${version(victim.secret, 2)}) WHERE ${version(victim.secret, 3)}`,
    ),
  "value changed": ({ victim }) =>
    attack(
      versionOf(victim.secret, 3),
      `UPDATE secret_version SET ${flipBit("sealed")} WHERE ${version(victim.secret, 3)}`,
    ),
  "value of an earlier version changed": ({ victim }) =>
    attack(
      versionOf(victim.secret, 2),
      `UPDATE secret_version SET ${flipBit("sealed")} WHERE ${version(victim.secret, 2)}`,
    ),
  "value removed": ({ victim }) =>
    attack(
      versionOf(victim.secret, 3),
      `UPDATE secret_version SET sealed = NULL, destroyed_at = now() WHERE ${version(victim.secret, 3)}`,
    ),
  "version deleted": ({ victim }) =>
    attack(
      `secret_version of secret ${victim.secret} was removed`,
      `DELETE FROM secret_version WHERE ${version(victim.secret, 3)}`,
    ),
  "version inserted": ({ victim }) =>
    attack(
      versionOf(victim.secret, 4),
      copyRow("secret_version", `stored.secret_id = '${victim.secret}' AND stored.version = 2`, {
        version: "4",
      }),
    ),
  "version of another data key": ({ victim }) =>
    attack(
      versionOf(victim.secret, 3),
      `UPDATE secret_version SET key_version = 2 WHERE ${version(victim.secret, 3)}`,
    ),
};

export const folderAttacks: Attacks = {
  "folder inserted": ({ victim }) =>
    attack(
      `folder /added of vault ${victim.vault} was added`,
      copyRow("folder", `stored.vault_id = '${victim.vault}' AND stored.path = '/app'`, { path: "/added" }),
    ),
  "folder deleted": ({ victim }) =>
    attack(
      `folder /empty of vault ${victim.vault} was removed`,
      `DELETE FROM folder WHERE ${ofVault(victim.vault)} AND path = '/empty'`,
    ),
  "folder renamed": ({ victim }) =>
    attack(
      `folder /app of vault ${victim.vault} was removed`,
      `UPDATE folder SET path = '/apps' WHERE ${ofVault(victim.vault)} AND path = '/app'`,
    ),
  "folders truncated": ({ victim }) =>
    globalAttack(`folder /app of vault ${victim.vault} was removed`, "TRUNCATE folder"),
};
