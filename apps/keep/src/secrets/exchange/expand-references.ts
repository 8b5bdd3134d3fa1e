import type { Actor } from "../../authorization/actor.ts";
import { reachesPath, reachesVault } from "../../authorization/grant.ts";
import { readValueByPath } from "../queries.ts";
import { type OpenedValue, openVersions, type ReadParts } from "../read-value.ts";
import { parseSecretPath, type SecretPath } from "../secret-path.ts";
import { asText } from "./file-entries.ts";
import { createExpander, type SecretPlace } from "./references.ts";

/**
 * Values of one vault with the references in their texts replaced. Whatever was read on the way is recorded in its own
 * vault when this settles; of the values themselves the caller keeps the record.
 */
export async function expandReferences(
  actor: Actor,
  { vaultId, values }: { readonly vaultId: string; readonly values: readonly OpenedValue[] },
  parts: ReadParts,
): Promise<readonly OpenedValue[]> {
  const given = new Map(values.map((value) => [value.path, value]));
  const read = new Map<string, OpenedValue[]>();
  const expand = createExpander(vaultId, async (place) => {
    const known = place.vaultId === vaultId ? given.get(place.path) : undefined;
    if (known !== undefined) return { type: known.type, bytes: known.value };
    const opened = await readReferred(actor, place, parts);
    if (opened === undefined) return undefined;
    read.set(place.vaultId, [...(read.get(place.vaultId) ?? []), opened]);
    return { type: opened.type, bytes: opened.value };
  });
  const expanded: OpenedValue[] = [];
  for (const value of values) {
    const text = value.type === "text" ? asText(value.value) : undefined;
    expanded.push(
      text === undefined
        ? value
        : { ...value, value: Buffer.from(await expand({ vaultId, path: value.path }, text), "utf8") },
    );
  }
  await Promise.all(
    [...read].map(([chain, secrets]) =>
      parts.audit.recordRead(actor.accountId, {
        chain,
        by: actor,
        event: { type: "values-read", secrets: secrets.map(nameVersion), path: "/" },
      }),
    ),
  );
  return expanded;
}

/** As a record names one of many. */
export function nameVersion({ id, version }: Pick<OpenedValue, "id" | "version">): string {
  return `${id}@${version}`;
}

/** What is not there and what the actor does not reach look the same. */
async function readReferred(
  actor: Actor,
  { vaultId, path }: SecretPlace,
  parts: ReadParts,
): Promise<OpenedValue | undefined> {
  const place = { accountId: actor.accountId, vaultId };
  const parsed = parsePath(path);
  if (parsed === undefined || !reachesVault(actor.grant, vaultId) || !reachesPath(actor.grant, parsed.path)) {
    return undefined;
  }
  const row = await readValueByPath(parts.database, place, parsed);
  if (row === undefined) return undefined;
  const [opened] = await openVersions(place, [row], { ...parts, by: actor });
  return opened;
}

/** A path that no secret can have names nothing. */
function parsePath(path: string): SecretPath | undefined {
  try {
    return parseSecretPath(path);
  } catch {
    return undefined;
  }
}
