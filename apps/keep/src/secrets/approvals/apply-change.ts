import type { BatchOperation } from "@hearth-and-keep/vault-contract";
import type { Grant } from "../../authorization/grant.ts";
import { requestFailure } from "../../failures.ts";
import { updateSettingsInChange } from "../../vaults/change-settings.ts";
import { deleteVaultInChange, restoreVaultInChange } from "../../vaults/delete-vault.ts";
import type { VaultChange } from "../../vaults/open-changes.ts";
import { assertMovable } from "../change-metadata.ts";
import { loadSecrets } from "../change-secret.ts";
import { runOperation } from "../run-batch.ts";
import { parseSecretPath } from "../secret-path.ts";
import { decodeValue } from "../value-content.ts";
import { assertInheritedReferencesAllowed, assertRelativeReferencesAllowed } from "../write-secret.ts";
import { describeSettings, type Proposal, type SeenState } from "./change-content.ts";

/** Does what was proposed. All grants, which have passed `assertProposalAllowed`, must allow it. */
export async function applyProposal(
  change: VaultChange,
  { operations, settings, vaultAction }: Proposal,
  [grant, ...otherGrants]: readonly [Grant, ...Grant[]],
): Promise<void> {
  for (const [index, operation] of operations.entries()) {
    for (const other of otherGrants) await assertReferencesAllowed(change, operation, other);
    await runOperation(change, operation, { grant, index });
  }
  if (Object.keys(settings).length > 0)
    await updateSettingsInChange(change, { changes: settings, grants: [grant, ...otherGrants] });
  if (vaultAction === "delete") await deleteVaultInChange(change);
  if (vaultAction === "restore") await restoreVaultInChange(change);
}

/** The checks of references that depend on the vault, which applying an operation makes for one grant only. */
async function assertReferencesAllowed(
  change: VaultChange,
  operation: BatchOperation,
  grant: Grant,
): Promise<void> {
  if (operation.op === "delete") return;
  const path = parseSecretPath(operation.path);
  const [before] = await loadSecrets(change, path);
  if (operation.op === "move") {
    const to = parseSecretPath(operation.to, "to");
    if (before !== undefined) await assertMovable(change, before, { to, grant });
    return;
  }
  const { type = before?.type ?? "text" } = operation;
  const value = decodeValue(operation.value, operation.encoding);
  assertRelativeReferencesAllowed(change.vault, grant, { folder: path.folder, value, type });
  assertInheritedReferencesAllowed(change.vault, grant, { value, type });
}

/** Paths that the operations name, each once. */
export function listPaths({ operations }: Proposal): readonly string[] {
  const named = operations.flatMap((operation) => [
    parseSecretPath(operation.path).path,
    ...(operation.op === "move" ? [parseSecretPath(operation.to, "to").path] : []),
  ]);
  return [...new Set(named)];
}

/** What the proposal depends on, before any of its operations. */
export async function readSeenState(change: VaultChange, proposal: Proposal): Promise<SeenState> {
  const secrets: SeenState["secrets"][number][] = [];
  for (const path of listPaths(proposal)) {
    const [found] = await loadSecrets(change, parseSecretPath(path));
    secrets.push({ path, revision: found?.revision ?? 0 });
  }
  return { secrets, settings: describeSettings(change.vault) };
}

/** Throws when the vault is no longer in the state for which the proposal was reviewed. */
export async function assertUnchanged(
  change: VaultChange,
  { seen, ...proposal }: Proposal & { readonly seen: SeenState },
): Promise<void> {
  const now = await readSeenState(change, proposal);
  const changed = now.secrets.find(({ revision }, index) => revision !== seen.secrets[index]?.revision);
  const subject = now.settings === seen.settings ? changed?.path : "A setting of the vault";
  if (subject === undefined) return;
  const reason = `${subject} was changed after this change was proposed; withdraw or reject it, and propose it again`;
  throw requestFailure({ kind: "conflict", reason });
}
