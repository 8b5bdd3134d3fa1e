import type { ValueUse } from "@hearth-and-keep/vault-contract";
import type { Actor } from "../../authorization/actor.ts";
import { allowsPath } from "../../authorization/grant.ts";
import { requestFailure } from "../../failures.ts";
import { readValueById, type ValueRow } from "../queries.ts";
import { type DecryptedValue, decryptVersions, type ReadDependencies } from "../read-value.ts";
import { joinPath } from "../secret-path.ts";
import { findObjection, parseEgressRule } from "./egress-rule.ts";

export type UseRequest = { readonly vaultId: string; readonly secretId: string; readonly use: ValueUse };

/**
 * The current value, for one request that the secret's egress rule allows. Records the use before returning it. The rule is
 * part of the row whose integrity was verified.
 */
export async function useValue(
  actor: Actor,
  { vaultId, secretId, use }: UseRequest,
  dependencies: ReadDependencies,
): Promise<DecryptedValue> {
  const vaultRef = { accountId: actor.accountId, vaultId };
  const selector = { id: secretId, version: null };
  let egress: string | null = null;
  const read = async (): Promise<readonly [ValueRow]> => {
    const row = await readValueById(dependencies.database, vaultRef, selector);
    const reach = { scope: "secrets:read", vaultId } as const;
    if (row === undefined || !allowsPath(actor.grant, reach, joinPath(row.folder, row.name)))
      throw requestFailure({ kind: "not-found" });
    egress = row.egress;
    return [row];
  };
  const [value] = await decryptVersions(vaultRef, read, { ...dependencies, by: actor });
  if (value === undefined) throw new Error("A value that was found was not decrypted");
  const reason = findObjection(egress === null ? undefined : parseEgressRule(egress), use);
  if (reason !== undefined) {
    value.value.fill(0);
    throw requestFailure({ kind: "use-not-allowed", reason });
  }
  const { id, path, version } = value;
  const { host, method, path: request_path } = use;
  const event = { type: "value-used", secret: id, path, version, host, method, request_path } as const;
  await dependencies.audit.recordRead({ ...vaultRef, by: actor, event });
  return value;
}
