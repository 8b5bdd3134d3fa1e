import { readFile, stat } from "node:fs/promises";
import { SettingsError } from "@hearth-and-keep/configuration";
import type { Hidden } from "@hearth-and-keep/logging";
import { type AllowedSitesSettings, createAllowedSites } from "./allowed-sites.ts";
import type { Access } from "./authenticate.ts";
import { type AccessKey, accessKey } from "./keys.ts";
import { type ParsedKeysFile, parseKeysFile } from "./keys-file.ts";
import { isLoopbackAddress } from "./loopback.ts";

export type AccessSettings = AllowedSitesSettings & {
  readonly apiKey: Hidden<string> | undefined;
  readonly apiKeysFile: string | undefined;
  readonly sharePromptCache: boolean;
  readonly allowInsecureBind: boolean;
};

/** Writing by the group, and anything by others. */
const accessByOthers = 0o027;

/** The name of the key from --api-key. */
const singleKeyName = "default";

/** Rejects with SettingsError if the keys are invalid. */
export async function readAccess(settings: AccessSettings): Promise<Access> {
  const single = readSingleKey(settings.apiKey);
  const named = await readNamedKeys(settings.apiKeysFile, single);
  const keys = [...single, ...named];
  rejectWeakKeys(keys, settings);
  return {
    keys,
    isCacheShared: settings.sharePromptCache,
    sites: createAllowedSites(settings),
  };
}

/** Whitespace means that a keys file was passed to the setting for a single key. */
function readSingleKey(apiKey: Hidden<string> | undefined): readonly AccessKey[] {
  if (apiKey === undefined) return [];
  const key = apiKey.reveal();
  if (/\s/u.test(key)) {
    throw new SettingsError(["--api-key must not contain whitespace; use --api-keys-file for several keys"]);
  }
  return [accessKey(singleKeyName, key)];
}

/** Other machines could try many keys; a local program could not be stopped from it by a better key. */
function rejectWeakKeys(keys: readonly AccessKey[], { host, allowInsecureBind }: AccessSettings): void {
  const weak = keys.filter(({ isWeak }) => isWeak).map(({ name }) => `"${name}"`);
  if (weak.length === 0 || isLoopbackAddress(host) || allowInsecureBind) return;
  throw new SettingsError([
    `the ${weak.length === 1 ? "key" : "keys"} ${weak.join(", ")} could be guessed by other machines, which can reach ${host}; use at least 16 random characters, for example from "openssl rand -hex 24"`,
  ]);
}

async function readNamedKeys(
  path: string | undefined,
  single: readonly AccessKey[],
): Promise<readonly AccessKey[]> {
  if (path === undefined) return [];
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) throw new SettingsError([`--api-keys-file: cannot read "${path}"`]);
  await rejectSharedFile(path);
  const parsed = parseKeysFile(text);
  const errors = [...parsed.errors, ...checkNotEmpty(parsed), ...checkNameConflict(parsed, single)];
  if (errors.length > 0)
    throw new SettingsError(errors.map((error) => `--api-keys-file "${path}": ${error}`));
  return parsed.keys;
}

/** Like SSH with private keys. The group may read it, as with secrets that are mounted into a container. */
async function rejectSharedFile(path: string): Promise<void> {
  if (process.platform === "win32" || ((await stat(path)).mode & accessByOthers) === 0) return;
  throw new SettingsError([
    `--api-keys-file "${path}": other users of this machine can read or change it; run "chmod 600 ${path}"`,
  ]);
}

/** A file that was emptied by accident would open the server to everyone. */
function checkNotEmpty({ keys, errors }: ParsedKeysFile): readonly string[] {
  return keys.length === 0 && errors.length === 0 ? ["it contains no keys"] : [];
}

function checkNameConflict({ keys }: ParsedKeysFile, single: readonly AccessKey[]): readonly string[] {
  const isReserved = single.length > 0 && keys.some(({ name }) => name === singleKeyName);
  return isReserved ? [`the name "${singleKeyName}" is reserved for the key from --api-key`] : [];
}
