import type { HearthParts } from "../../dependencies.ts";
import { displayModelName, readModelName } from "../../models/model-name.ts";

type NamingParts = Pick<HearthParts, "models" | "scheduler">;

/** From the list, because a damaged model has a name too. */
export async function digestNamed(
  text: string,
  { models }: Pick<NamingParts, "models">,
): Promise<string | undefined> {
  const name = readModelName(text);
  if (name === undefined) return undefined;
  const wanted = displayModelName(name).toLowerCase();
  const listing = await models.list();
  return listing.models.find((summary) => summary.name.toLowerCase() === wanted)?.digest;
}

/**
 * What a name led to before it was changed leaves the memory, unless another name has it: nobody could ask for it or
 * stop it any more. Without a grace its last answer is finished first, and nobody waits for that.
 */
export async function unloadUnnamed(
  digest: string | undefined,
  { models, scheduler }: NamingParts,
  force?: { readonly graceSeconds: number },
): Promise<void> {
  if (digest === undefined) return;
  const { models: left } = await models.list();
  if (left.some((other) => other.digest === digest)) return;
  const leaving = scheduler.unload(digest, force);
  if (force !== undefined) await leaving;
}
