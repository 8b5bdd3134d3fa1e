import { type Attack, type Attacks, attack, flipBit, putBack } from "./superuser-attack.ts";

export const serverKeyAttacks: Attacks = {
  "signing key removed": () =>
    attack("server_key signing was removed", "DELETE FROM server_key WHERE purpose = 'signing'"),
  "integrity key removed": () =>
    attack("server_key integrity was removed", "DELETE FROM server_key WHERE purpose = 'integrity'"),
  "integrity key changed": () =>
    attack(
      "server_key integrity 1 is not genuine",
      `UPDATE server_key SET ${flipBit("wrapped")} WHERE purpose = 'integrity'`,
    ),
  "two server keys swapped": () =>
    attack(
      "server_key integrity 1 is not genuine",
      "UPDATE server_key SET wrapped = CASE purpose WHEN 'sealing' THEN (SELECT wrapped FROM server_key WHERE purpose = 'integrity') ELSE (SELECT wrapped FROM server_key WHERE purpose = 'sealing') END WHERE purpose IN ('sealing', 'integrity')",
    ),
  "public key replaced": () =>
    attack(
      "server_key signing 1: its public key was changed",
      `UPDATE server_key SET ${flipBit("public_key")} WHERE purpose = 'signing'`,
    ),
  "server keys truncated": () => attack("server_key integrity was removed", "TRUNCATE server_key"),
  "another active encryption key": () =>
    attack(
      "key_encryption_key: the active key is not one of the configured ones",
      "UPDATE key_encryption_key SET status = 'retired'",
      "INSERT INTO key_encryption_key (fingerprint, status) VALUES ('0000000000000000', 'active')",
    ),
};

const auditTables = ["audit_record", "audit_log", "audit_batch", "audit_tile", "audit_stream"] as const;
const accessTables = [
  "account",
  "identity",
  "identity_route",
  "session",
  "session_route",
  "api_token",
  "token_route",
] as const;
const vaultTables = ["vault", "vault_key", "secret", "secret_version", "folder"] as const;
/** A log in which the victim's vault has records. */
const logOf = (vault: string): string =>
  `(SELECT min(log_id) FROM audit_stream WHERE stream_id = '${vault}')`;
/** The record of the victim's last write. */
const lastRecord = (vault: string): string =>
  `stream_id = '${vault}' AND number = (SELECT max(number) FROM audit_record WHERE stream_id = '${vault}' AND outcome = 'changed')`;

export const auditAttacks: Attacks = {
  "audit record changed": ({ victim }) =>
    attack(
      "does not match its leaf: it was changed",
      `UPDATE audit_record SET body = replace(body, '/app/', '/other/') WHERE stream_id = '${victim.vault}' AND strpos(body, '/app/') > 0`,
    ),
  "audit record deleted": ({ victim }) =>
    attack("was removed", `DELETE FROM audit_record WHERE ${lastRecord(victim.vault)}`),
  "audit record erased": ({ victim }) =>
    attack(
      "was erased, but its account",
      `UPDATE audit_record SET body_hash = sha256(convert_to(body, 'UTF8')), body = NULL WHERE ${lastRecord(victim.vault)}`,
    ),
  "audit record moved to another stream": ({ victim, attacker }) =>
    attack(
      "does not match its leaf: it was changed",
      `UPDATE audit_record SET stream_id = '${attacker.vault}', account_id = '${attacker.account}' WHERE ${lastRecord(victim.vault)}`,
    ),
  "audit record added": ({ victim }) =>
    attack(
      `of ${victim.vault} is in no log: it was added to the database`,
      `INSERT INTO audit_record (stream_id, number, log_id, account_id, outcome, body, mac) SELECT stream_id, number + 1, log_id, account_id, outcome, body, mac FROM audit_record WHERE ${lastRecord(victim.vault)}`,
    ),
  "audit records truncated": () => attack("was removed", "TRUNCATE audit_record"),
  "leaves of a checkpoint deleted": ({ victim }) =>
    attack(
      "are missing",
      `DELETE FROM audit_batch WHERE log_id = ${logOf(victim.vault)} AND first_index = 0`,
    ),
  "checkpoint of leaves changed": ({ victim }) =>
    attack(
      "is not signed by a known key",
      `UPDATE audit_batch SET note = overlay(note placing 'x' from length(note) - 9) WHERE log_id = ${logOf(victim.vault)} AND first_index = 0`,
    ),
  "size of a log changed": ({ victim }) =>
    attack("its size says", `UPDATE audit_log SET size = size + 1 WHERE id = ${logOf(victim.vault)}`),
  "tree of a log changed": ({ victim }) =>
    attack(
      "does not match its leaf: it was changed",
      `UPDATE audit_log SET edge[1] = sha256(edge[1]) || substring(edge[1] FROM 33) WHERE id = ${logOf(victim.vault)}`,
    ),
  "end of a stream moved": ({ victim }) =>
    attack(
      `the end of stream ${victim.vault} was changed`,
      `UPDATE audit_stream SET last_index = 0, records = 1 WHERE stream_id = '${victim.vault}'`,
    ),
  "ends of streams truncated": ({ victim }) =>
    attack(`the end of stream ${victim.vault} was removed`, "TRUNCATE audit_stream"),
  "log renamed": () =>
    attack("is missing: a trusted checkpoint", "UPDATE audit_log SET origin = origin || '/other'"),
  "all audit tables truncated": () =>
    attack("is missing: a trusted checkpoint", `TRUNCATE ${auditTables.join(", ")}`),
  "old chain added": ({ victim }) =>
    attack(
      `Chain ${victim.vault} was added: its stream began in the log`,
      `INSERT INTO audit_chain (account_id, id, seq, hash, at, is_carried_over) VALUES ('${victim.account}', '${victim.vault}', 1, sha256(''), now(), true)`,
    ),
};

const rolledBack = (...tables: readonly string[]): Attack => ({
  ...attack("it was rolled back or cut", ...tables.flatMap((table) => putBack(table))),
  isReadAgain: "anywhere",
  needsCheckpoints: true,
});

/** Consistent states that Keep itself once wrote. */
export const restores: Attacks = {
  "whole database restored to an earlier state": () =>
    rolledBack(...accessTables, ...vaultTables, ...auditTables),
  "all vaults and the audit log restored to an earlier state": () =>
    rolledBack(...vaultTables, ...auditTables),
  "all accounts and the audit log restored to an earlier state": () =>
    rolledBack(...accessTables, ...auditTables),
};

/** Everything that an attack may change. */
export const attackedTables = [
  "server_key",
  "key_encryption_key",
  ...accessTables,
  ...vaultTables,
  "audit_chain",
  ...auditTables,
];
/** What can be restored beside a running server, which goes on writing to the log. */
export const restoredBesideServer = [...accessTables, ...vaultTables];
