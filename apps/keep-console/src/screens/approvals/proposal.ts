import type {
  NewChangeBody,
  SecretMetadata,
  SecretValue,
  VaultDetail,
} from "@hearth-and-keep/vault-contract";
import { ApiError, request } from "../../vault-api/api-client.ts";
import { formatQuery, valuePath, vaultPath } from "../secrets/api-paths.ts";
import type { StoredSecret } from "../secrets/save-secret.ts";
import { type SecretDraft, toRequestBody } from "../secrets/secret-draft.ts";

/** What a person would propose; the reason follows. */
export type Proposal = Omit<NewChangeBody, "reason">;

type Operation = NonNullable<Proposal["operations"]>[number];

/** Of one proposed change. */
export const maxOperations = 200;

/** A secret that does not exist yet. */
export function proposeNewSecret(path: string, draft: SecretDraft): Proposal {
  const { tags, note, ...content } = toRequestBody(draft);
  return {
    operations: [
      {
        op: "put",
        path,
        ...content,
        ...(tags?.length === 0 ? {} : { tags }),
        ...(note === null ? {} : { note }),
        if_revision: 0,
      },
    ],
  };
}

/** Tags and a note that stay as they are, are not part of the change. */
export function proposeSecretVersion({ secret, value }: StoredSecret, draft: SecretDraft): Proposal {
  const { tags = [], note, ...content } = toRequestBody(draft, value);
  const { path, revision } = secret;
  return {
    operations: [
      {
        op: "put",
        path,
        ...content,
        ...(tags.join("\n") === secret.tags.join("\n") ? {} : { tags }),
        ...((note ?? "") === (value.note ?? "") ? {} : { note: note ?? null }),
        if_revision: revision,
      },
    ],
  };
}

export function proposeMove({ path, revision }: SecretMetadata, to: string): Proposal {
  return { operations: [{ op: "move", path, to, if_revision: revision }] };
}

export function proposeDeletion({ path, revision }: SecretMetadata): Proposal {
  return { operations: [{ op: "delete", path, if_revision: revision }] };
}

/** Moves each secret of a folder; without `to`, deletes them. */
export async function proposeFolderChange(vaultId: string, folder: string, to?: string): Promise<Proposal> {
  const query = formatQuery({ path: folder, recursive: "true", limit: String(maxOperations) });
  type Page = { readonly items: readonly SecretMetadata[]; readonly next_cursor?: string };
  const { body } = await request<Page>(`${vaultPath(vaultId)}/secrets${query}`);
  if (body.next_cursor !== undefined) {
    const title = `A proposed change can contain at most ${maxOperations} secrets; propose one for each subfolder`;
    throw new ApiError(0, { title, code: "conflict" });
  }
  const operations = body.items.map(({ path, revision }): Operation => {
    if (to === undefined) return { op: "delete", path, if_revision: revision };
    return { op: "move", path, to: `${to}${path.slice(folder.length)}`, if_revision: revision };
  });
  return { operations };
}

/** The value of an earlier version, as restoring it writes it: tags and note stay. */
export async function proposeRestoredVersion(
  vaultId: string,
  { id, path, revision }: SecretMetadata,
  version: number,
): Promise<Proposal> {
  const { body } = await request<SecretValue>(valuePath(vaultId, id, { version }));
  const { value, encoding, type } = body;
  return { operations: [{ op: "put", path, value, encoding, type, if_revision: revision }] };
}

type ReviewedSettings = Pick<VaultDetail, "most_versions" | "environments" | "base" | "protected_paths">;

/** Only the settings that differ from those of the vault. */
export function proposeSettings(vault: VaultDetail, next: Partial<ReviewedSettings>): Proposal {
  const current = new Map<string, unknown>(Object.entries(vault));
  const changed = Object.entries(next).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(current.get(name)),
  );
  return Object.fromEntries(changed);
}
