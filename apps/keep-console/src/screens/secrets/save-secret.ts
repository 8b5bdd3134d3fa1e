import type { SecretMetadata, SecretValue, VaultDetail } from "@hearth-and-keep/vault-contract";
import { ApiError, request } from "../../vault-api/api-client.ts";
import { secretAtPath, secretPath, valuePath, vaultPath } from "./api-paths.ts";
import { isValueChanged, type SecretDraft, toRequestBody } from "./secret-draft.ts";

export type StoredSecret = { readonly secret: SecretMetadata; readonly value: SecretValue };

/** Undefined when the secret no longer exists. */
export async function readSecret(vaultId: string, secretId: string): Promise<StoredSecret | undefined> {
  try {
    const { body: secret } = await request<SecretMetadata>(secretPath(vaultId, secretId));
    const { body: value } = await request<SecretValue>(valuePath(vaultId, secretId));
    return { secret, value };
  } catch (error) {
    if (error instanceof ApiError && error.code === "not_found") return undefined;
    throw error;
  }
}

/** The precondition of changes that affect many secrets at once. */
export async function readVaultRevision(vaultId: string): Promise<number> {
  return (await request<VaultDetail>(vaultPath(vaultId))).body.revision;
}

export type SaveOptions = {
  readonly vaultId: string;
  readonly draft: SecretDraft;
  /** What the draft is based on; its revision is the precondition. */
  readonly stored: StoredSecret;
};

/** Saves a new version, or only the tags and note when the value is unchanged. */
export async function saveSecret({ vaultId, draft, stored }: SaveOptions): Promise<SecretMetadata> {
  const { secret, value } = stored;
  const body = toRequestBody(draft, value);
  const { revision } = secret;
  if (isValueChanged(draft, value)) {
    const path = secretAtPath(vaultId, secret.path);
    return (await request<SecretMetadata>(path, { method: "PUT", body, revision })).body;
  }
  const metadata = { tags: body.tags, note: body.note };
  const path = secretPath(vaultId, secret.id);
  return (await request<SecretMetadata>(path, { method: "PATCH", body: metadata, revision })).body;
}

/** Fails its precondition when a secret already exists at the path. */
export async function createSecret(
  vaultId: string,
  path: string,
  draft: SecretDraft,
): Promise<SecretMetadata> {
  const { body } = await request<SecretMetadata>(secretAtPath(vaultId, path), {
    method: "PUT",
    body: toRequestBody(draft),
    revision: "new",
  });
  return body;
}

/** The message for a failed write of a version; names the console's remedy where the API's text cannot. */
export function describeSaveError(error: ApiError): string {
  return error.code === "versions_full"
    ? "This secret has reached its maximum number of versions. Destroy an earlier version, or raise the limit in the vault settings."
    : error.message;
}

export function isPreconditionFailed(error: unknown): boolean {
  return error instanceof ApiError && error.code === "precondition_failed";
}
