import type { Actor } from "../../authorization/actor.ts";
import { allowsPath } from "../../authorization/grant.ts";
import { type Inheritance, toBasePath } from "../environments/inherited-folders.ts";
import { readValueByPath } from "../queries.ts";
import { type DecryptedValue, decryptVersions, type ReadDependencies } from "../read-value.ts";
import { parseSecretPath, type SecretPath } from "../secret-path.ts";
import { decodeUtf8 } from "./file-entries.ts";
import { createExpander, type ReferenceTarget } from "./references.ts";

const scope = "secrets:read" as const;

type ExpandedValues<Value> = {
  readonly vaultId: string;
  readonly values: readonly Value[];
  /** Of the folder asked for; its environment's missing secrets are then looked up in the base. */
  readonly inheritance?: Inheritance | undefined;
};

/**
 * Replaces the references in text values of one vault. Values read through references are recorded in their own vaults
 * before this returns; the caller records the read of the given values.
 */
export async function expandReferences<Value extends DecryptedValue>(
  actor: Actor,
  { vaultId, values, inheritance }: ExpandedValues<Value>,
  dependencies: ReadDependencies,
): Promise<readonly Value[]> {
  const valuesByPath = new Map(values.map((value) => [value.path, value]));
  const read = new Map<string, DecryptedValue[]>();
  const ownInheritance = (target: ReferenceTarget) => (target.vaultId === vaultId ? inheritance : undefined);
  const expand = createExpander(vaultId, async (target) => {
    const value = target.vaultId === vaultId ? valuesByPath.get(target.path) : undefined;
    if (value !== undefined) return { type: value.type, bytes: value.value };
    const decrypted = await readOrInherit(
      actor,
      { target, inheritance: ownInheritance(target) },
      dependencies,
    );
    if (decrypted === undefined) return undefined;
    read.set(target.vaultId, [...(read.get(target.vaultId) ?? []), decrypted]);
    return { type: decrypted.type, bytes: decrypted.value };
  });
  const expanded: Value[] = [];
  for (const value of values) {
    const text = value.type === "text" ? decodeUtf8(value.value) : undefined;
    expanded.push(
      text === undefined
        ? value
        : { ...value, value: Buffer.from(await expand({ vaultId, path: value.path }, text), "utf8") },
    );
  }
  await Promise.all(
    [...read].map(([readVaultId, secrets]) =>
      dependencies.audit.recordRead({
        accountId: actor.accountId,
        vaultId: readVaultId,
        by: actor,
        event: { type: "values-read", secrets: secrets.map(formatVersion), path: "/" },
      }),
    ),
  );
  return expanded;
}

/** The form used in audit records. */
export function formatVersion({ id, version }: Pick<DecryptedValue, "id" | "version">): string {
  return `${id}@${version}`;
}

async function readOrInherit(
  actor: Actor,
  {
    target,
    inheritance,
  }: { readonly target: ReferenceTarget; readonly inheritance: Inheritance | undefined },
  dependencies: ReadDependencies,
): Promise<DecryptedValue | undefined> {
  const own = await readReferenced(actor, target, dependencies);
  if (own !== undefined || inheritance === undefined) return own;
  const path = toBasePath(inheritance, target.path);
  // An own value that the actor may not read must not look like an inherited one.
  if (path === undefined || !allowsPath(actor.grant, { scope, vaultId: target.vaultId }, target.path))
    return undefined;
  return readReferenced(actor, { ...target, path }, dependencies);
}

/** Undefined both for a missing secret and for one that the actor may not read. */
async function readReferenced(
  actor: Actor,
  { vaultId, path }: ReferenceTarget,
  dependencies: ReadDependencies,
): Promise<DecryptedValue | undefined> {
  const vaultRef = { accountId: actor.accountId, vaultId };
  const parsed = parsePath(path);
  if (parsed === undefined || !allowsPath(actor.grant, { scope, vaultId }, parsed.path)) return undefined;
  const read = async () => {
    const row = await readValueByPath(dependencies.database, vaultRef, parsed);
    return row === undefined ? [] : [row];
  };
  const [decrypted] = await decryptVersions(vaultRef, read, { ...dependencies, by: actor });
  return decrypted;
}

/** Undefined for an invalid path. */
function parsePath(path: string): SecretPath | undefined {
  try {
    return parseSecretPath(path);
  } catch {
    return undefined;
  }
}
