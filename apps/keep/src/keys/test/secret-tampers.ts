import type { Random } from "../../test/seeded-random.ts";
import type { Cell } from "./tamper-fixtures.ts";

/** What a superuser does to one cell, and what is read afterwards; every one of these reads must be refused. */
export type CellTamper = (cell: Cell, random: Random) => CellCase;

export type CellCase = {
  readonly statements: readonly string[];
  /** Under the vault's address. */
  readonly read: string;
  /** The secret that the audit log has to name. */
  readonly broken: string;
};

const version = (secret: string, number: number): string => `secret_id = '${secret}' AND version = ${number}`;
const valueOf = (secret: string): string => `secrets/${secret}/value`;
const flipBit = (column: string, bit: number): string =>
  `${column} = set_bit(${column}, ${bit} % (8 * length(${column})), 1 - get_bit(${column}, ${bit} % (8 * length(${column}))))`;
const cut = (column: string, bytes: number): string =>
  `${column} = substring(${column} FROM 1 FOR greatest(1, length(${column}) - ${bytes}))`;
/** Two rows of one table exchange what these columns hold. */
const swap = (table: string, columns: readonly string[], [one, other]: readonly [string, string]): string =>
  `WITH held AS (SELECT (${one}) AS is_one, ${columns.join(", ")} FROM ${table} WHERE (${one}) OR (${other})) ` +
  `UPDATE ${table} SET ${columns.map((column) => `${column} = held.${column}`).join(", ")} FROM held ` +
  `WHERE ((${qualify(table, one)}) AND NOT held.is_one) OR ((${qualify(table, other)}) AND held.is_one)`;
const qualify = (table: string, condition: string): string =>
  condition.replaceAll(/\b(?<column>secret_id|vault_id|version|id) =/gu, `${table}.$<column> =`);
/** One table's rows put back to what they were earlier. */
const putBack = (table: string, condition: string): readonly string[] => [
  `DELETE FROM ${table} WHERE ${condition}`,
  `INSERT INTO ${table} SELECT * FROM earlier_${table} WHERE ${condition}`,
];

const ofSecret =
  (make: (cell: Cell, random: Random) => readonly string[]): CellTamper =>
  (cell, random) => ({
    statements: make(cell, random),
    read: valueOf(cell.secret),
    broken: cell.secret,
  });
const update = (what: (cell: Cell, random: Random) => string): CellTamper =>
  ofSecret((cell, random) => [`UPDATE secret SET ${what(cell, random)} WHERE id = '${cell.secret}'`]);
const bitOf = (random: Random): number => random.between(0, 100_000);

export const cellTampers: Readonly<Record<string, CellTamper>> = {
  "values of two versions swapped": ofSecret(({ secret }) => [
    swap("secret_version", ["sealed"], [version(secret, 2), version(secret, 3)]),
  ]),
  "values of two secrets swapped": ofSecret(({ secret, sibling }) => [
    swap("secret_version", ["sealed"], [version(secret, 3), version(sibling, 1)]),
  ]),
  "values of two vaults swapped": ofSecret(({ secret, inOtherVault }) => [
    swap("secret_version", ["sealed"], [version(secret, 3), version(inOtherVault, 1)]),
  ]),
  "values of two accounts swapped": ofSecret(({ secret, strangers }) => [
    swap("secret_version", ["sealed"], [version(secret, 3), version(strangers, 1)]),
  ]),
  "versions of two secrets swapped": ofSecret(({ secret, sibling }) => [
    `UPDATE secret_version SET version = 99 WHERE ${version(secret, 3)}`,
    `UPDATE secret_version SET secret_id = '${secret}', version = 3 WHERE ${version(sibling, 1)}`,
    `UPDATE secret_version SET secret_id = '${sibling}', version = 1 WHERE ${version(secret, 99)}`,
  ]),
  "an older version in a newer one's place": ofSecret(({ secret }) => [
    `UPDATE secret_version SET (sealed, type, key_version, size) = (SELECT sealed, type, key_version, size FROM secret_version WHERE ${version(secret, 2)}) WHERE ${version(secret, 3)}`,
  ]),
  "an older version read as asked": ({ secret }, random) => ({
    statements: [`UPDATE secret_version SET ${flipBit("sealed", bitOf(random))} WHERE ${version(secret, 2)}`],
    read: `${valueOf(secret)}?version=2`,
    broken: secret,
  }),
  "one bit of a value": ofSecret(({ secret }, random) => [
    `UPDATE secret_version SET ${flipBit("sealed", bitOf(random))} WHERE ${version(secret, 3)}`,
  ]),
  "a value cut short": ofSecret(({ secret }, random) => [
    `UPDATE secret_version SET ${cut("sealed", random.between(1, 60))} WHERE ${version(secret, 3)}`,
  ]),
  "one bit of a wrapped key": ofSecret(({ vaultId }, random) => [
    `UPDATE vault_key SET ${flipBit("wrapped", bitOf(random))} WHERE vault_id = '${vaultId}'`,
  ]),
  "a wrapped key cut short": ofSecret(({ vaultId }, random) => [
    `UPDATE vault_key SET ${cut("wrapped", random.between(1, 60))} WHERE vault_id = '${vaultId}'`,
  ]),
  "wrapped keys of two vaults swapped": ofSecret(({ vaultId, otherVaultId }) => [
    swap("vault_key", ["wrapped"], [`vault_id = '${vaultId}'`, `vault_id = '${otherVaultId}'`]),
  ]),
  "wrapped keys of two accounts swapped": ofSecret(({ vaultId, strangersVaultId }) => [
    swap("vault_key", ["wrapped"], [`vault_id = '${vaultId}'`, `vault_id = '${strangersVaultId}'`]),
  ]),
  "one bit of the mark": update((_cell, random) => flipBit("mark", bitOf(random))),
  "marks of two secrets swapped": ofSecret(({ secret, sibling }) => [
    swap("secret", ["mark"], [`id = '${secret}'`, `id = '${sibling}'`]),
  ]),
  "one bit of the revision": update((_cell, random) => `revision = revision # ${2 ** random.between(0, 20)}`),
  "another current version": update((_cell, random) => `current_version = ${random.pick([1, 2, 4])}`),
  "another type of the secret": update(
    (_cell, random) => `type = '${random.pick(["json", "binary", "file"])}'`,
  ),
  "another type of the version": ofSecret(({ secret }, random) => [
    `UPDATE secret_version SET type = '${random.pick(["json", "binary", "file"])}' WHERE ${version(secret, 3)}`,
  ]),
  "another folder": update((_cell, random) => `folder = '/${random.pick(["b", "A", "aa"])}'`),
  "another name": update((_cell, random) => `name = '${random.pick(["KEZ", "KE", "key"])}'`),
  "another's name, read by it": ({ secret, sibling }) => ({
    statements: [
      `UPDATE secret SET name = 'ELSEWHERE' WHERE id = '${secret}'`,
      `UPDATE secret SET name = 'KEY' WHERE id = '${sibling}'`,
    ],
    read: "values/by-path/a/KEY",
    broken: sibling,
  }),
  "other destroyed versions": update(
    (_cell, random) => `destroyed_versions = '${random.pick(["{}", "{1,2}", "{1,3}", "{3}"])}'`,
  ),
  "a destroyed version brought back": ({ secret }) => ({
    statements: putBack("secret_version", version(secret, 1)),
    read: `${valueOf(secret)}?version=1`,
    broken: secret,
  }),
  "other tags": update(() => "tags = '{forged}'"),
  "one bit of the note": update((_cell, random) => flipBit("note_sealed", bitOf(random))),
  "the note removed": update(() => "note_sealed = NULL"),
  "another data key named by the secret": update(() => "key_version = 1"),
  "another data key named by the version": ofSecret(({ secret }) => [
    `UPDATE secret_version SET key_version = 1 WHERE ${version(secret, 3)}`,
  ]),
  "the secret put back": ofSecret(({ secret }) => putBack("secret", `id = '${secret}'`)),
  "its versions put back": ofSecret(({ secret }) => putBack("secret_version", `secret_id = '${secret}'`)),
  "the vault put back": ofSecret(({ vaultId }) => putBack("vault", `id = '${vaultId}'`)),
  "its keys put back": ofSecret(({ vaultId }) => putBack("vault_key", `vault_id = '${vaultId}'`)),
  "its audit log put back": ofSecret(({ vaultId }) => [
    ...putBack("audit_event", `chain_id = '${vaultId}'`),
    ...putBack("audit_chain", `id = '${vaultId}'`),
  ]),
  "a deleted secret brought back": ({ deleted }) => ({
    statements: [`UPDATE secret SET deleted_at = NULL, purge_after = NULL WHERE id = '${deleted}'`],
    read: valueOf(deleted),
    broken: deleted,
  }),
};
