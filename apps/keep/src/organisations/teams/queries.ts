import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import type { Signed } from "../../keys/row-integrity/queries.ts";
import type { MemberRow } from "../../keys/row-integrity/row-macs.ts";
import type { MemberRef } from "../queries.ts";

export type TeamRef = { readonly accountId: string; readonly teamId: string };

export type TeamRow = {
  readonly id: string;
  readonly name: string;
  readonly externalGroup: string | null;
  readonly createdAt: Date;
  readonly members: number;
};

/** In order of creation. */
export function listTeams(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
): Promise<readonly TeamRow[]> {
  return database.queryInAccount<TeamRow>(accountId, {
    text: 'SELECT id, name, external_group AS "externalGroup", created_at AS "createdAt", (SELECT count(*)::integer FROM member WHERE member.account_id = team.account_id AND team.id = ANY (member.team_ids)) AS members FROM team WHERE account_id = entered.account::uuid ORDER BY id LIMIT 500',
  });
}

export async function countTeams(transaction: Transaction, accountId: string): Promise<number> {
  const [row] = await transaction.query<{ count: number }>({
    text: "SELECT count(*)::integer AS count FROM team WHERE account_id = $1",
    values: [accountId],
  });
  return row?.count ?? 0;
}

/** With the MAC of its group; null without one. */
export type StoredGroup = { readonly externalGroup: string | null; readonly mac: Buffer | null };

export async function insertTeam(
  transaction: Transaction,
  { accountId, teamId }: TeamRef,
  { name, externalGroup, mac }: StoredGroup & { readonly name: string },
): Promise<TeamRow> {
  const [row] = await transaction.query<{ createdAt: Date }>({
    text: 'INSERT INTO team (id, account_id, name, external_group, mac) VALUES ($1, $2, $3, $4, $5) RETURNING created_at AS "createdAt"',
    values: [teamId, accountId, name, externalGroup, mac],
  });
  if (row === undefined) throw new Error("INSERT returned no row");
  return { id: teamId, name, externalGroup, createdAt: row.createdAt, members: 0 };
}

/** False when there is no such team. */
export async function updateTeamName(
  transaction: Transaction,
  { accountId, teamId }: TeamRef,
  name: string,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "UPDATE team SET name = $3 WHERE account_id = $1 AND id = $2 RETURNING id",
    values: [accountId, teamId, name],
  });
  return rows.length === 1;
}

export async function updateTeamGroup(
  transaction: Transaction,
  { accountId, teamId }: TeamRef,
  { externalGroup, mac }: StoredGroup,
): Promise<void> {
  await transaction.query({
    text: "UPDATE team SET external_group = $3, mac = $4 WHERE account_id = $1 AND id = $2",
    values: [accountId, teamId, externalGroup, mac],
  });
}

/** Undefined when there is no such team. */
export async function findTeam(
  transaction: Transaction,
  { accountId, teamId }: TeamRef,
): Promise<(StoredGroup & { readonly name: string }) | undefined> {
  const [row] = await transaction.query<StoredGroup & { readonly name: string }>({
    text: 'SELECT name, external_group AS "externalGroup", mac FROM team WHERE account_id = $1 AND id = $2',
    values: [accountId, teamId],
  });
  return row;
}

/** A team and the group of the provider that fills it. */
export type FilledTeam = { readonly teamId: string; readonly externalGroup: string };

/** In order of creation. Their MACs are not verified. */
export function listFilledTeams(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
): Promise<readonly FilledTeam[]> {
  return database.queryInAccount<FilledTeam>(accountId, {
    text: 'SELECT id AS "teamId", external_group AS "externalGroup" FROM team WHERE account_id = entered.account::uuid AND external_group IS NOT NULL ORDER BY id LIMIT 500',
  });
}

export async function findMemberRow(
  transaction: Transaction,
  { accountId, personId }: MemberRef,
): Promise<Signed<MemberRow> | undefined> {
  const [row] = await transaction.query<Signed<MemberRow>>({
    text: 'SELECT account_id AS "accountId", person_id AS "personId", role, team_ids AS "teamIds", group_team_ids AS "groupTeamIds", mac FROM member WHERE person_id = $1 AND account_id = $2',
    values: [personId, accountId],
  });
  return row;
}

export async function deleteTeamRow(transaction: Transaction, { accountId, teamId }: TeamRef): Promise<void> {
  await transaction.query({
    text: "DELETE FROM team WHERE account_id = $1 AND id = $2",
    values: [accountId, teamId],
  });
}

export async function updateMemberTeams(
  transaction: Transaction,
  { accountId, personId, teamIds, groupTeamIds, mac }: Omit<Signed<MemberRow>, "role">,
): Promise<void> {
  await transaction.query({
    text: "UPDATE member SET team_ids = $3, group_team_ids = $4, mac = $5 WHERE person_id = $1 AND account_id = $2",
    values: [personId, accountId, teamIds, groupTeamIds, mac],
  });
}
