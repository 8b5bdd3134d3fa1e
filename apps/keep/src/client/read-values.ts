import { type SecretValues, secretValues } from "@hearth-and-keep/vault-contract";
import { clientFailure } from "./client-failure.ts";
import type { VaultContext } from "./open-context.ts";
import type { TaggedResponse } from "./vault-client.ts";

export type ValuesRequest = {
  /** Only these; all of the folder by default. */
  readonly names?: readonly string[] | undefined;
  readonly expand: "references" | undefined;
  /** Whether subfolders are read too. */
  readonly isRecursive?: boolean;
  /** The entity tag of values that are known already. */
  readonly knownTag?: string | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type NamedValue = SecretValues["items"][number];

/** Longer lists are read with the whole folder, because a URL has limits. */
const maxNamesCharacters = 4096;

/** The values of the folder in one request, which is one record of the audit log. */
export function requestValues(
  { names, expand, isRecursive, knownTag, signal }: ValuesRequest,
  { client, vaultId, folder, isInheriting }: VaultContext,
): Promise<TaggedResponse<SecretValues>> {
  const list = names?.join(",") ?? "";
  return client.requestTagged(`/api/secrets/vaults/${vaultId}/values`, {
    shape: secretValues,
    subject: folder,
    query: {
      path: folder,
      expand,
      names: list === "" || list.length > maxNamesCharacters ? undefined : list,
      recursive: isRecursive === true ? "true" : undefined,
      inherit: isInheriting ? "true" : undefined,
    },
    ...(signal === undefined ? {} : { signal }),
    ...(knownTag === undefined ? {} : { headers: { "if-none-match": knownTag } }),
  });
}

/** A single value that the environment may inherit. */
export async function readInherited(
  name: string,
  { expand }: Pick<ValuesRequest, "expand">,
  context: VaultContext,
): Promise<NamedValue> {
  const response = await requestValues({ names: [name], expand }, context);
  const found = response.isUnchanged ? undefined : response.body.items.find((item) => item.name === name);
  if (found === undefined)
    throw clientFailure({ kind: "names-missing", names: [name], folder: context.folder });
  return found;
}
