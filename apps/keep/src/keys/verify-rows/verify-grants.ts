import { parseGrants } from "../../grants/vault-grants.ts";
import type { VaultRef } from "../vault-ref.ts";
import { readEvent } from "./logged-account.ts";
import {
  type LoggedEvent,
  listTeams,
  listVaultAccess,
  listVaultEvents,
  listVaultIds,
  listVaultRoutes,
  pageSizes,
} from "./queries.ts";
import { readPages } from "./read-pages.ts";
import type { AccountContext } from "./row-verifier.ts";

/** Who may do what in the vaults of an organisation: each vault's grants are genuine, and those that the log says there are. */
export async function verifyGrants({ database, report, accountId, epochs }: AccountContext): Promise<void> {
  const ids = new Map<string, ReadonlySet<string>>();
  for (const { mac, ...vaultAccess } of await listVaultAccess(database, accountId)) {
    const { vaultId, grants } = vaultAccess;
    if (epochs.isCurrent({ vaultAccess }, mac))
      ids.set(vaultId, new Set(parseGrants(grants).map(({ id }) => id)));
    else report(`vault_access of vault ${vaultId} is not genuine`);
  }
  const routes = new Set(await listVaultRoutes(database, accountId));
  const vaults = readPages(pageSizes.rows, (last: { readonly id: string } | undefined) =>
    listVaultIds(database, accountId, last?.id ?? null),
  );
  for await (const { id: vaultId } of vaults) {
    if (!routes.delete(vaultId)) report(`vault ${vaultId}: its route was changed or removed`);
    for (const grant of await listLoggedGrants({ accountId, vaultId }, database))
      if (ids.get(vaultId)?.has(grant) !== true) report(`grant ${grant} of vault ${vaultId} was removed`);
  }
  for (const id of routes) report(`vault_route of vault ${id} leads to no vault of ${accountId}`);
}

/** Added, and not removed. */
async function listLoggedGrants(
  vaultRef: VaultRef,
  database: AccountContext["database"],
): Promise<ReadonlySet<string>> {
  const grants = new Set<string>();
  const events = readPages(pageSizes.events, (last: LoggedEvent | undefined) =>
    listVaultEvents(database, vaultRef, last?.number ?? 0),
  );
  for await (const { body } of events) {
    const { type, grant = "" } = readEvent(body);
    if (type === "grant-added") grants.add(grant);
    if (type === "grant-removed") grants.delete(grant);
    // Ends all of them.
    if (type === "vault-transferred-out") grants.clear();
  }
  return grants;
}

/** A team has no rights of its own, but the group that fills it decides who gets the team's grants. */
export async function verifyTeams({
  database,
  report,
  accountId,
  logged,
  epochs,
}: AccountContext): Promise<void> {
  const teams = await listTeams(database, accountId);
  for (const { id: teamId, externalGroup, mac } of teams) {
    const name = `team ${teamId} of ${accountId}`;
    if (externalGroup === null) {
      if (logged.filledTeams.has(teamId)) report(`${name}: its group was removed`);
    } else if (!epochs.isCurrent({ teamGroup: { accountId, teamId, externalGroup } }, mac))
      report(`${name}: its group is not genuine`);
  }
  const ids = new Set(teams.map(({ id }) => id));
  for (const id of logged.teams) if (!ids.has(id)) report(`team ${id} of ${accountId} was removed`);
}
