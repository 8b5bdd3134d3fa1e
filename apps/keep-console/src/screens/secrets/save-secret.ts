import type { SecretMetadata, SecretValue, VaultDetail } from "@hearth-and-keep/vault-contract";
import { ask, KeepProblem } from "../../vault-api/api-client.ts";
import { secretAtPath, secretPath, valuePath, vaultPath } from "./api-paths.ts";
import { bodyOf, type Draft, isNewValue } from "./draft.ts";

/** A secret as it is stored: what is known of it, and its value. */
export type Stored = { readonly secret: SecretMetadata; readonly value: SecretValue };

/** Undefined when it is not there any more. */
export async function readStored(vaultId: string, secretId: string): Promise<Stored | undefined> {
  try {
    const { body: secret } = await ask<SecretMetadata>(secretPath(vaultId, secretId));
    const { body: value } = await ask<SecretValue>(valuePath(vaultId, secretId));
    return { secret, value };
  } catch (problem) {
    if (problem instanceof KeepProblem && problem.status === 404) return undefined;
    throw problem;
  }
}

/** Of the whole vault: what a change of many things at once is made on. */
export async function readVaultRevision(vaultId: string): Promise<number> {
  return (await ask<VaultDetail>(vaultPath(vaultId))).body.revision;
}

export type Saving = {
  readonly vaultId: string;
  readonly draft: Draft;
  /** What the draft was made of. */
  readonly before: Stored;
};

/** A new version, or the tags and the note alone when the value is the same. Refused when it is not as it was read. */
export async function saveSecret({ vaultId, draft, before }: Saving): Promise<SecretMetadata> {
  const { secret, value } = before;
  const body = bodyOf(draft, value);
  if (isNewValue(draft, value)) {
    const path = secretAtPath(vaultId, secret.path);
    return (await ask<SecretMetadata>(path, { method: "PUT", body, revision: secret.revision })).body;
  }
  const about = { tags: body.tags, note: body.note };
  const path = secretPath(vaultId, secret.id);
  return (await ask<SecretMetadata>(path, { method: "PATCH", body: about, revision: secret.revision })).body;
}

/** At a path where nothing is; refused when something is there. */
export async function createSecret(vaultId: string, path: string, draft: Draft): Promise<SecretMetadata> {
  const { body } = await ask<SecretMetadata>(secretAtPath(vaultId, path), {
    method: "PUT",
    body: bodyOf(draft),
    revision: "new",
  });
  return body;
}

export function isChangedMeanwhile(problem: unknown): boolean {
  return problem instanceof KeepProblem && problem.status === 412;
}
