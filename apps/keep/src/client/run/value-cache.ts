import { createHash, createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type AssociatedData, decrypt, encrypt, IntegrityError } from "@hearth-and-keep/envelope-crypto";
import { type SecretValues, secretValues } from "@hearth-and-keep/vault-contract";
import { Type } from "typebox";
import { Check } from "typebox/value";
import { cacheFolder, configurationFolder } from "../config.ts";
import type { Keyring } from "../keyring.ts";
import { readPrivateFile, writePrivateFile } from "../private-file.ts";

/** What the stored values are bound to: a copy for one server, folder or token does not decrypt for another. */
export type CacheScope = {
  readonly server: string;
  readonly vaultId: string;
  readonly folder: string;
  /** Everything else of the request. */
  readonly query: string;
  readonly token: string;
};

type CachedValues = { readonly values: SecretValues; readonly tag: string };

export type ValueCache = {
  /** Undefined when there are none, they are too old, or were modified. */
  read(): Promise<CachedValues | undefined>;
  write(cached: CachedValues): Promise<void>;
  delete(): Promise<void>;
};

/** A clock that was set back would keep values forever. */
const maxFutureMilliseconds = 5 * 60_000;
const maxFileBytes = 96 * 1024 * 1024;
const keyBytes = 32;
const keyName = "cache key";

const storedValues = Type.Object({
  at: Type.Number(),
  tag: Type.String({ maxLength: 512 }),
  values: secretValues,
});

export type CacheOptions = {
  readonly maxAgeMinutes: number;
  readonly openKeyring: () => Promise<Keyring | undefined>;
};

/** Values on this machine, encrypted with a key in the keyring, or else in a file that only this user can read. */
export function openValueCache(scope: CacheScope, { maxAgeMinutes, openKeyring }: CacheOptions): ValueCache {
  const file = join(cacheFolder(), `${fingerprintOf(scope)}.values`);
  const associatedData = associatedDataOf(scope);
  const remove = () => rm(file, { force: true });
  return {
    async read() {
      const content = await readPrivateFile(file, maxFileBytes);
      if (content === undefined) return undefined;
      const stored = decryptStored(content, await readKey(openKeyring), { associatedData, maxAgeMinutes });
      if (stored === undefined) await remove();
      return stored;
    },
    async write({ values, tag }) {
      const text = JSON.stringify({ at: Date.now(), tag, values });
      const key = await readKey(openKeyring);
      await writePrivateFile(file, encrypt(Buffer.from(text), key, associatedData));
    },
    delete: remove,
  };
}

/** Of every server; they are of no use without the token. */
export async function deleteCachedValues(): Promise<void> {
  await rm(cacheFolder(), { recursive: true, force: true });
}

function decryptStored(
  content: Buffer,
  key: KeyObject,
  {
    associatedData,
    maxAgeMinutes,
  }: { readonly associatedData: AssociatedData; readonly maxAgeMinutes: number },
): CachedValues | undefined {
  try {
    const stored: unknown = JSON.parse(decrypt(content, key, associatedData).toString("utf8"));
    if (!Check(storedValues, stored)) return undefined;
    const age = Date.now() - stored.at;
    const isUsable = age <= maxAgeMinutes * 60_000 && age >= -maxFutureMilliseconds;
    return isUsable ? stored : undefined;
  } catch (error) {
    if (error instanceof IntegrityError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function associatedDataOf({ server, vaultId, folder, query, token }: CacheScope): AssociatedData {
  const tokenHash = createHash("sha256").update(token).digest("hex");
  return ["offline-values", server, vaultId, folder, query, tokenHash];
}

function fingerprintOf(scope: CacheScope): string {
  return createHash("sha256")
    .update(JSON.stringify(associatedDataOf(scope)))
    .digest("hex");
}

/** Created when it is first needed. */
async function readKey(openKeyring: () => Promise<Keyring | undefined>): Promise<KeyObject> {
  const fresh = randomBytes(keyBytes);
  const fromKeyring = await readKeyringKey(fresh, openKeyring);
  if (fromKeyring !== undefined) return createSecretKey(fromKeyring);
  const file = join(configurationFolder(), "cache.key");
  const stored = await readPrivateFile(file, keyBytes);
  if (stored?.length === keyBytes) return createSecretKey(stored);
  await writePrivateFile(file, fresh);
  return createSecretKey(fresh);
}

/** Undefined when there is no keyring, or it is locked. */
async function readKeyringKey(
  fresh: Buffer,
  openKeyring: () => Promise<Keyring | undefined>,
): Promise<Buffer | undefined> {
  try {
    const keyring = await openKeyring();
    if (keyring === undefined) return undefined;
    const stored = Buffer.from((await keyring.get(keyName)) ?? "", "base64");
    if (stored.length === keyBytes) return stored;
    await keyring.set(keyName, fresh.toString("base64"));
    return fresh;
  } catch {
    return undefined;
  }
}
