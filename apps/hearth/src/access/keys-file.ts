import { type AccessKey, accessKey } from "./keys.ts";

export type ParsedKeysFile = {
  readonly keys: readonly AccessKey[];
  /** One message per invalid line; none contains a key. */
  readonly errors: readonly string[];
};

const line =
  /^(?<name>[A-Za-z0-9][A-Za-z0-9._-]{0,63}):(?<key>[\x21-\x7e]{1,1024})(?:[ \t]+(?<role>admin|inference))?$/u;

/** One `name:key`, or `name:key admin`, per line. Empty lines and lines that start with `#` are skipped. */
export function parseKeysFile(text: string): ParsedKeysFile {
  const names = new Set<string>();
  const hashes = new Set<string>();
  const keys: AccessKey[] = [];
  const errors: string[] = [];
  for (const [index, content] of text.split("\n").entries()) {
    const trimmed = content.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const { name, key, role } = line.exec(trimmed)?.groups ?? {};
    if (name === undefined || key === undefined) {
      errors.push(
        `line ${index + 1} must have the form name:key or name:key admin; a name consists of letters, digits, dots, dashes and underscores`,
      );
      continue;
    }
    const named = accessKey(name, key, role === "admin" ? "admin" : "inference");
    const hash = Buffer.from(named.sha256).toString("hex");
    if (names.has(name)) errors.push(`line ${index + 1} repeats the name "${name}"`);
    if (hashes.has(hash)) errors.push(`line ${index + 1} repeats a key`);
    names.add(name);
    hashes.add(hash);
    keys.push(named);
  }
  return { keys, errors };
}
