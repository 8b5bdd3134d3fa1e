import { seal } from "@hearth-and-keep/envelope-crypto";
import { type ConditionTarget, refuseUnlessMet } from "../conditions.ts";
import { requestFailure } from "../failures.ts";
import type { Changed } from "../idempotency/change-once.ts";
import type { AskedChange, ChangeParts, VaultChange } from "../vaults/change-vault.ts";
import { valuePlace } from "./associated-data.ts";
import { bearSecret, changeSecrets, storeSecret, takeSecrets, writerOf } from "./change-secret.ts";
import { describeSecret, type SecretMetadata } from "./describe-secret.ts";
import { makeFolders } from "./folders/queries.ts";
import { refuseUnlessReached } from "./path-access.ts";
import { countSecrets, type SecretRow, type SecretType } from "./queries.ts";
import type { SecretPath } from "./secret-path.ts";
import { refuseUnfit } from "./value-content.ts";
import { insertVersion } from "./versions/queries.ts";

const mostSecrets = 10_000;

/** What somebody wants to be at a path. What is left out stays as it was; for a new secret it is text without tags. */
export type NewSecret = {
  readonly path: SecretPath;
  readonly value: Buffer;
  readonly type?: SecretType | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly note?: string | null | undefined;
  /** Refuses by throwing, when what is at the path is not as the writer wants it. */
  readonly check?: (target: ConditionTarget) => void;
};

export type Written = { readonly isNew: boolean; readonly secret: SecretMetadata };

/** A new secret, or a new version of the one at the path. The result holds no value and no note. */
export function writeSecret(
  { conditions, ...asked }: AskedChange,
  secret: NewSecret,
  parts: ChangeParts,
): Promise<Changed<Written>> {
  refuseUnlessReached(asked.actor.grant, secret.path.path);
  return changeSecrets(asked, parts, (change) =>
    writeInto(change, { ...secret, check: (target) => refuseUnlessMet(conditions, target) }),
  );
}

/**
 * The same inside a change of the caller's (`changeSecrets`), so that several stand or fall together. Stores, counts and
 * records; that the actor reaches the path the caller has made sure of.
 */
export async function writeInto(change: VaultChange, secret: NewSecret): Promise<Written> {
  const [before] = await takeSecrets(change, secret.path);
  secret.check?.({ revision: before?.revision, isDemanded: change.vault.demands_preconditions });
  const stored =
    before === undefined ? await create(change, secret) : await addVersion(change, { before, secret });
  await change.record(
    { type: "secret-written", secret: stored.id, path: secret.path.path, version: stored.current_version },
    { id: stored.id, revision: stored.revision },
  );
  return { isNew: before === undefined, secret: describeSecret(stored) };
}

async function create(change: VaultChange, secret: NewSecret): Promise<SecretRow> {
  const { path, value, type = "text", tags = [], note = null } = secret;
  await refuseOneTooMany(change);
  await makeFolders(change.transaction, change.place, path.folder);
  const { folder, name } = path;
  const born = await bearSecret(change, { folder, name, type, tags, note, size: value.length });
  await sealVersion(change, born, value);
  return born;
}

/** How many more an account may have, as counted in this transaction: each count looks at all that are there. */
const room = new WeakMap<VaultChange["transaction"], number>();

export async function refuseOneTooMany({ transaction, place }: VaultChange, more = 1): Promise<void> {
  // Counted again before a refusal, because the same transaction may have deleted some.
  const known = room.get(transaction) ?? 0;
  const left =
    known >= more ? known : mostSecrets - (await countSecrets(transaction, place.accountId, mostSecrets));
  if (left < more) throw requestFailure({ kind: "quota-exceeded", what: "secrets", most: mostSecrets });
  room.set(transaction, left - more);
}

type Addition = {
  readonly before: SecretRow;
  readonly secret: Pick<NewSecret, "value" | "type" | "tags" | "note">;
};

/** The next version of a secret that is there. */
export async function addVersion(change: VaultChange, { before, secret }: Addition): Promise<SecretRow> {
  const most = change.vault.most_versions;
  if (before.current_version - before.destroyed_versions.length >= most) {
    throw requestFailure({ kind: "versions-full", most });
  }
  const stored = await storeSecret(change, before, {
    current_version: before.current_version + 1,
    type: secret.type ?? before.type,
    tags: secret.tags ?? before.tags,
    note: secret.note,
    size: secret.value.length,
  });
  await sealVersion(change, stored, secret.value);
  return stored;
}

async function sealVersion(change: VaultChange, secret: SecretRow, value: Buffer): Promise<void> {
  refuseUnfit(value, secret.type);
  const { key, version: keyVersion } = await change.activeKey();
  const { id: secretId, current_version: version, type } = secret;
  const { vaultId } = change.place;
  await insertVersion(
    change.transaction,
    { ...change.place, secretId },
    {
      version,
      type,
      keyVersion,
      sealed: seal(value, key, valuePlace({ vaultId, secretId, version, keyVersion, type })),
      size: value.length,
      by: writerOf(change),
    },
  );
}
