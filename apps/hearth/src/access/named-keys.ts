import { type AccessKey, accessKey } from "./keys.ts";

export type NamedKeys = {
  readonly keys: readonly AccessKey[];
  /** One sentence for each line that is wrong; none repeats a key. */
  readonly mistakes: readonly string[];
};

const line = /^(?<name>[A-Za-z0-9][A-Za-z0-9._-]{0,63}):(?<key>[\x21-\x7e]{1,1024})$/u;

/** Keys as a file holds them: one `name:key` a line; empty lines and those that open with `#` are passed over. */
export function parseNamedKeys(text: string): NamedKeys {
  const names = new Set<string>();
  const hashes = new Set<string>();
  const keys: AccessKey[] = [];
  const mistakes: string[] = [];
  for (const [index, written] of text.split("\n").entries()) {
    const trimmed = written.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const { name, key } = line.exec(trimmed)?.groups ?? {};
    if (name === undefined || key === undefined) {
      mistakes.push(`line ${index + 1} must read name:key, the name of letters, digits, dots and dashes`);
      continue;
    }
    const named = accessKey(name, key);
    const hash = Buffer.from(named.sha256).toString("hex");
    if (names.has(name)) mistakes.push(`line ${index + 1} repeats the name "${name}"`);
    if (hashes.has(hash)) mistakes.push(`line ${index + 1} repeats a key`);
    names.add(name);
    hashes.add(hash);
    keys.push(named);
  }
  return { keys, mistakes };
}
