import type { SecretValue } from "@hearth-and-keep/vault-contract";
import { ApiError, request } from "../../vault-api/api-client.ts";
import { maxOperations, type Proposal } from "../approvals/proposal.ts";
import { valuePath } from "../secrets/api-paths.ts";
import { readVaultRevision } from "../secrets/save-secret.ts";
import { loadFolder } from "./use-environment-contents.ts";

export type PlannedPromotion = {
  readonly vaultId: string;
  /** Folders. */
  readonly from: string;
  readonly to: string;
  /** Within both folders. */
  readonly names: readonly string[];
  /** The vault's revision of the dry run that chose them. */
  readonly revision: number;
};

type Operation = NonNullable<Proposal["operations"]>[number];

/** Writes what a promotion would: values and types of the first folder, and the tags of secrets that are new. */
export async function proposePromotion(promotion: PlannedPromotion): Promise<Proposal> {
  const { vaultId, from, to, names, revision } = promotion;
  if (names.length > maxOperations) {
    const title = `A proposed change can contain at most ${maxOperations} secrets; clear the others and promote them later`;
    throw new ApiError(0, { title, code: "conflict" });
  }
  const [sources, targets] = await Promise.all([from, to].map((folder) => loadFolder({ vaultId, folder })));
  const operations: Operation[] = [];
  for (const name of names) {
    const source = sources?.contents.secrets.get(name);
    if (source === undefined) throw changedMeanwhile();
    const { value, encoding, type } = (await request<SecretValue>(valuePath(vaultId, source.id))).body;
    const target = targets?.contents.secrets.get(name);
    operations.push({
      op: "put",
      path: `${to}/${name}`,
      value,
      encoding,
      type,
      if_revision: target?.revision ?? 0,
      ...(target === undefined && source.tags.length > 0 ? { tags: [...source.tags] } : {}),
    });
  }
  if ((await readVaultRevision(vaultId)) !== revision) throw changedMeanwhile();
  return { operations };
}

function changedMeanwhile(): ApiError {
  return new ApiError(0, { title: "The vault changed since the preview", code: "precondition_failed" });
}
