import type { Random } from "../../test/seeded-random.ts";
import type { TamperFixture } from "./tamper-fixtures.ts";

/** A superuser's change to a fixture and a read that must then fail. */
export type SecretTamper = (fixture: TamperFixture, random: Random) => TamperCase;

export type TamperCase = {
  readonly statements: readonly string[];
  /** Relative to the vault's URL. */
  readonly readPath: string;
  /** The secret that the audit log must name. */
  readonly brokenSecret: string;
};

const version = (secret: string, number: number): string => `secret_id = '${secret}' AND version = ${number}`;
const valueOf = (secret: string): string => `secrets/${secret}/value`;
const flipBit = (column: string, bit: number): string =>
  `${column} = set_bit(${column}, ${bit} % (8 * length(${column})), 1 - get_bit(${column}, ${bit} % (8 * length(${column}))))`;
const cut = (column: string, bytes: number): string =>
  `${column} = substring(${column} FROM 1 FOR greatest(1, length(${column}) - ${bytes}))`;
/** Swaps these columns between two rows of a table. */
const swap = (table: string, columns: readonly string[], [one, other]: readonly [string, string]): string =>
  `WITH held AS (SELECT (${one}) AS is_one, ${columns.join(", ")} FROM ${table} WHERE (${one}) OR (${other})) ` +
  `UPDATE ${table} SET ${columns.map((column) => `${column} = held.${column}`).join(", ")} FROM held ` +
  `WHERE ((${qualify(table, one)}) AND NOT held.is_one) OR ((${qualify(table, other)}) AND held.is_one)`;
const qualify = (table: string, condition: string): string =>
  condition.replaceAll(/\b(?<column>secret_id|vault_id|version|id) =/gu, `${table}.$<column> =`);
/** Rolls rows of a table back to their earlier state. */
const rollBack = (table: string, condition: string): readonly string[] => [
  `DELETE FROM ${table} WHERE ${condition}`,
  `INSERT INTO ${table} SELECT * FROM earlier_${table} WHERE ${condition}`,
];

const ofSecret =
  (createStatements: (fixture: TamperFixture, random: Random) => readonly string[]): SecretTamper =>
  (fixture, random) => ({
    statements: createStatements(fixture, random),
    readPath: valueOf(fixture.secret),
    brokenSecret: fixture.secret,
  });
const update = (createAssignment: (fixture: TamperFixture, random: Random) => string): SecretTamper =>
  ofSecret((fixture, random) => [
    `UPDATE secret SET ${createAssignment(fixture, random)} WHERE id = '${fixture.secret}'`,
  ]);
const bitOf = (random: Random): number => random.between(0, 100_000);

export const secretTampers: Readonly<Record<string, SecretTamper>> = {
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
  "newer version replaced by an older one": ofSecret(({ secret }) => [
    `UPDATE secret_version SET (sealed, type, key_version, size) = (SELECT sealed, type, key_version, size FROM secret_version WHERE ${version(secret, 2)}) WHERE ${version(secret, 3)}`,
  ]),
  "one bit of an older version": ({ secret }, random) => ({
    statements: [`UPDATE secret_version SET ${flipBit("sealed", bitOf(random))} WHERE ${version(secret, 2)}`],
    readPath: `${valueOf(secret)}?version=2`,
    brokenSecret: secret,
  }),
  "one bit of a value": ofSecret(({ secret }, random) => [
    `UPDATE secret_version SET ${flipBit("sealed", bitOf(random))} WHERE ${version(secret, 3)}`,
  ]),
  "truncated value": ofSecret(({ secret }, random) => [
    `UPDATE secret_version SET ${cut("sealed", random.between(1, 60))} WHERE ${version(secret, 3)}`,
  ]),
  "one bit of a wrapped key": ofSecret(({ vaultId }, random) => [
    `UPDATE vault_key SET ${flipBit("wrapped", bitOf(random))} WHERE vault_id = '${vaultId}'`,
  ]),
  "truncated wrapped key": ofSecret(({ vaultId }, random) => [
    `UPDATE vault_key SET ${cut("wrapped", random.between(1, 60))} WHERE vault_id = '${vaultId}'`,
  ]),
  "wrapped keys of two vaults swapped": ofSecret(({ vaultId, otherVaultId }) => [
    swap("vault_key", ["wrapped"], [`vault_id = '${vaultId}'`, `vault_id = '${otherVaultId}'`]),
  ]),
  "wrapped keys of two accounts swapped": ofSecret(({ vaultId, strangersVaultId }) => [
    swap("vault_key", ["wrapped"], [`vault_id = '${vaultId}'`, `vault_id = '${strangersVaultId}'`]),
  ]),
  "one bit of the MAC": update((_fixture, random) => flipBit("mark", bitOf(random))),
  "MACs of two secrets swapped": ofSecret(({ secret, sibling }) => [
    swap("secret", ["mark"], [`id = '${secret}'`, `id = '${sibling}'`]),
  ]),
  "one bit of the revision": update(
    (_fixture, random) => `revision = revision # ${2 ** random.between(0, 20)}`,
  ),
  "another current version": update((_fixture, random) => `current_version = ${random.pick([1, 2, 4])}`),
  "another type of the secret": update(
    (_fixture, random) => `type = '${random.pick(["json", "binary", "file"])}'`,
  ),
  "another type of the version": ofSecret(({ secret }, random) => [
    `UPDATE secret_version SET type = '${random.pick(["json", "binary", "file"])}' WHERE ${version(secret, 3)}`,
  ]),
  "another folder": update((_fixture, random) => `folder = '/${random.pick(["b", "A", "aa"])}'`),
  "another name": update((_fixture, random) => `name = '${random.pick(["KEZ", "KE", "key"])}'`),
  "name of another secret, read by path": ({ secret, sibling }) => ({
    statements: [
      `UPDATE secret SET name = 'ELSEWHERE' WHERE id = '${secret}'`,
      `UPDATE secret SET name = 'KEY' WHERE id = '${sibling}'`,
    ],
    readPath: "values/by-path/a/KEY",
    brokenSecret: sibling,
  }),
  "other destroyed versions": update(
    (_fixture, random) => `destroyed_versions = '${random.pick(["{}", "{1,2}", "{1,3}", "{3}"])}'`,
  ),
  "destroyed version restored": ({ secret }) => ({
    statements: rollBack("secret_version", version(secret, 1)),
    readPath: `${valueOf(secret)}?version=1`,
    brokenSecret: secret,
  }),
  "other tags": update(() => "tags = '{forged}'"),
  "one bit of the note": update((_fixture, random) => flipBit("note_sealed", bitOf(random))),
  "another egress rule": update(() => `egress = '{"hosts":["attacker.example"],"ask":false}'`),
  "the note removed": update(() => "note_sealed = NULL"),
  "another data key in the secret's row": update(() => "key_version = 1"),
  "another data key in the version's row": ofSecret(({ secret }) => [
    `UPDATE secret_version SET key_version = 1 WHERE ${version(secret, 3)}`,
  ]),
  "secret rolled back": ofSecret(({ secret }) => rollBack("secret", `id = '${secret}'`)),
  "versions rolled back": ofSecret(({ secret }) => rollBack("secret_version", `secret_id = '${secret}'`)),
  "vault rolled back": ofSecret(({ vaultId }) => rollBack("vault", `id = '${vaultId}'`)),
  "keys rolled back": ofSecret(({ vaultId }) => rollBack("vault_key", `vault_id = '${vaultId}'`)),
  "secret rolled back, and removed from the audit log": ofSecret(({ secret }) => [
    ...rollBack("secret", `id = '${secret}'`),
    `UPDATE audit_record SET subject_id = NULL, revision = NULL WHERE subject_id = '${secret}' AND revision > (SELECT revision FROM secret WHERE id = '${secret}')`,
  ]),
  "secret rolled back with its versions and the vault's revision": ofSecret(({ secret, vaultId }) => [
    ...rollBack("secret", `id = '${secret}'`),
    ...rollBack("secret_version", `secret_id = '${secret}'`),
    `UPDATE vault SET revision = (SELECT revision FROM earlier_vault WHERE id = '${vaultId}') WHERE id = '${vaultId}'`,
  ]),
  "deleted secret restored": ({ deleted }) => ({
    statements: [`UPDATE secret SET deleted_at = NULL, purge_after = NULL WHERE id = '${deleted}'`],
    readPath: valueOf(deleted),
    brokenSecret: deleted,
  }),
};
