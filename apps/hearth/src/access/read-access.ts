import { readFile } from "node:fs/promises";
import { SettingsError } from "@hearth-and-keep/configuration";
import type { Hidden } from "@hearth-and-keep/logging";
import type { Access } from "./admit.ts";
import { type SiteSettings, sitesFor } from "./allowed-sites.ts";
import { type AccessKey, accessKey } from "./keys.ts";
import { type NamedKeys, parseNamedKeys } from "./named-keys.ts";

export type AccessSettings = SiteSettings & {
  readonly apiKey: Hidden<string> | undefined;
  readonly apiKeysFile: string | undefined;
  readonly sharePromptCache: boolean;
};

/** The name of the key that was given alone. */
const soleName = "default";

/** Rejects with SettingsError when the file of keys cannot be used. */
export async function readAccess(settings: AccessSettings): Promise<Access> {
  const sole = readSoleKey(settings.apiKey);
  const named = await readNamedKeys(settings.apiKeysFile, sole);
  return {
    keys: [...sole, ...named],
    isCacheShared: settings.sharePromptCache,
    sites: sitesFor(settings),
  };
}

/** Two settings name files of keys; in the wrong one, the whole of a list would be taken for a key. */
function readSoleKey(apiKey: Hidden<string> | undefined): readonly AccessKey[] {
  if (apiKey === undefined) return [];
  const key = apiKey.reveal();
  if (/\s/u.test(key)) {
    throw new SettingsError(["--api-key must be one word; several keys go into --api-keys-file"]);
  }
  return [accessKey(soleName, key)];
}

async function readNamedKeys(
  path: string | undefined,
  sole: readonly AccessKey[],
): Promise<readonly AccessKey[]> {
  if (path === undefined) return [];
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) throw new SettingsError([`--api-keys-file names "${path}", which cannot be read`]);
  const { keys, mistakes } = parseNamedKeys(text);
  const all = [...mistakes, ...emptiness({ keys, mistakes }), ...takenName(keys, sole)];
  if (all.length > 0) throw new SettingsError(all.map((mistake) => `--api-keys-file "${path}": ${mistake}`));
  return keys;
}

/** A file that was emptied by accident would open the server to everybody. */
function emptiness({ keys, mistakes }: NamedKeys): readonly string[] {
  return keys.length === 0 && mistakes.length === 0 ? ["it holds no key"] : [];
}

function takenName(keys: readonly AccessKey[], sole: readonly AccessKey[]): readonly string[] {
  const isTaken = sole.length > 0 && keys.some(({ name }) => name === soleName);
  return isTaken ? [`the name "${soleName}" belongs to the key of --api-key`] : [];
}
