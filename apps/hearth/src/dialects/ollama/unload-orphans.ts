import type { HearthDependencies } from "../../dependencies.ts";
import { displayModelName, tryParseModelName } from "../../models/model-name.ts";

type OrphanDependencies = Pick<HearthDependencies, "models" | "scheduler">;

/** Looked up in the list, because damaged models have names too. */
export async function digestOfName(
  text: string,
  { models }: Pick<OrphanDependencies, "models">,
): Promise<string | undefined> {
  const name = tryParseModelName(text);
  if (name === undefined) return undefined;
  const displayName = displayModelName(name).toLowerCase();
  const listing = await models.list();
  return listing.models.find((summary) => summary.name.toLowerCase() === displayName)?.digest;
}

/**
 * Unloads the model that a name pointed to before it changed, unless another name still does: no request could use or
 * unload it any more. With `force` this waits; otherwise running generations finish in the background.
 */
export async function unloadOrphan(
  digest: string | undefined,
  dependencies: OrphanDependencies,
  force?: { readonly graceSeconds: number },
): Promise<void> {
  if (digest === undefined) return;
  const { models: remaining } = await dependencies.models.list();
  if (remaining.some((other) => other.digest === digest)) return;
  const unloaded = dependencies.scheduler.unload(digest, force);
  if (force !== undefined) await unloaded;
}
