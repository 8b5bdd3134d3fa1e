import { type SecretMetadata, secretPage, secretValue, type ValueUse } from "@hearth-and-keep/vault-contract";
import { clientFailure, isClientFailure } from "../client-failure.ts";
import type { VaultContext } from "../open-context.ts";
import { findMissing, type Selection } from "../run/child-environment.ts";
import { UseRefusedError } from "./forward-request.ts";
import type { UsableSecret } from "./placeholders.ts";

export type SelectedSecrets = {
  readonly usable: readonly UsableSecret[];
  /** Names of secrets that no host may get, and of those that cannot be variables. */
  readonly skipped: readonly string[];
};

/** Reads no value. Throws when one that was asked for by name does not exist, or has no egress rule. */
export async function findUsableSecrets(
  { only, required, prefix }: Selection,
  context: VaultContext,
): Promise<SelectedSecrets> {
  const secrets = await listSecrets(context);
  const missing = findMissing(secrets, { only, required, prefix });
  if (missing.length > 0)
    throw clientFailure({ kind: "names-missing", names: missing, folder: context.folder });
  const selected = secrets.filter(({ name }) => only === undefined || only.includes(name));
  const entries = selected.map((secret) => ({ secret, usable: toUsable(secret, prefix) }));
  const skipped = entries.filter(({ usable }) => usable === undefined).map(({ secret }) => secret.name);
  const [name] = only === undefined ? [] : skipped;
  if (name !== undefined) throw clientFailure({ kind: "egress-rule-missing", name });
  return { usable: entries.flatMap(({ usable }) => usable ?? []), skipped };
}

function toUsable(
  { id, path, name, egress, type }: SecretMetadata,
  prefix: string,
): UsableSecret | undefined {
  const variable = prefix + name;
  const isUsable = /^[A-Za-z_][A-Za-z0-9_]*$/u.test(variable) && (type === "text" || type === "json");
  return isUsable && egress !== undefined ? { id, path, variable, rule: egress } : undefined;
}

async function listSecrets({ client, vaultId, folder }: VaultContext): Promise<readonly SecretMetadata[]> {
  const secrets: SecretMetadata[] = [];
  let cursor: string | undefined;
  do {
    const query = { path: folder, limit: "200", cursor };
    const address = `/api/secrets/vaults/${vaultId}/secrets`;
    const page = await client.request(address, { shape: secretPage, query, subject: folder });
    secrets.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return secrets;
}

/** The server decides by the rule it has now, and records the use before it returns the value. */
export async function requestUse(
  { id, variable }: UsableSecret,
  use: ValueUse,
  { client, vaultId }: Pick<VaultContext, "client" | "vaultId">,
): Promise<string> {
  try {
    const address = `/api/secrets/vaults/${vaultId}/secrets/${id}/use`;
    const { value, encoding } = await client.request(address, {
      method: "POST",
      body: use,
      shape: secretValue,
    });
    if (encoding === "utf8") return value;
    throw new UseRefusedError(`The value of ${variable} is no text`);
  } catch (error) {
    if (isClientFailure(error, "server-unreachable"))
      throw new UseRefusedError(`${variable} may not be used: Keep cannot be reached`, { cause: error });
    if (!isClientFailure(error, "problem")) throw error;
    const { title, detail } = error.failure.problem;
    throw new UseRefusedError(`${variable} may not be used: ${detail ?? title}`, { cause: error });
  }
}
