import { commandSetting, listSetting, textSetting } from "@hearth-and-keep/configuration";

/** Where the key-encryption key comes from, if not from a setting of its own. */
export const custodySettings = {
  encryptionKeyCommand: commandSetting({
    placeholder: "command",
    description:
      "program that prints the encryption key, with its arguments, e.g. of a key management service; runs without a shell, once per start",
  }),
  secondEncryptionKeyCommand: commandSetting({
    placeholder: "command",
    description: "the same for further keys, which only decrypt, for a rotation",
  }),
  encryptionKeyCommandEnvironment: listSetting({
    placeholder: "names",
    maxItems: 50,
    check: (item) =>
      /^[A-Za-z_][A-Za-z0-9_]{0,127}\*?$/u.test(item)
        ? undefined
        : "is not a name, or its beginning with a *",
    description:
      "environment variables that these programs get besides PATH and HOME, comma-separated, e.g. AWS_*,GOOGLE_APPLICATION_CREDENTIALS",
  }),
  encryptionKeyFingerprint: textSetting({
    placeholder: "fingerprint",
    defaultValue: undefined,
    maxLength: 64,
    description:
      "fingerprint that the first encryption key must have, from keep key fingerprint; needed before the key of a program replaces another one",
  }),
} as const;

/** The environment of these programs: never Keep's own settings, which contain secrets. */
export function commandEnvironment(
  patterns: readonly string[],
  inherited: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  const isPassed = (name: string): boolean =>
    !name.startsWith("KEEP_") &&
    ["PATH", "HOME", ...patterns].some((pattern) =>
      pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
    );
  return Object.fromEntries(Object.entries(inherited).filter(([name]) => isPassed(name)));
}
