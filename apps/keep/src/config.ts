import { readSettings, secretSetting, serverSettings, type ValuesOf } from "@hearth-and-keep/configuration";

/** Everything that can be set on `keep serve`. Its help text and the settings page are made from this. */
export const serveSettings = {
  ...serverSettings(8300),
  databaseUrl: secretSetting({
    placeholder: "url",
    mostCharacters: 2048,
    meaning: "PostgreSQL database, as postgres://user:password@host:5432/name",
  }),
  encryptionKey: secretSetting({
    placeholder: "key",
    mostCharacters: 128,
    meaning: "key that seals every vault's data key: 32 bytes in base64, from keep make-key",
  }),
} as const;

export type ServeConfig = ValuesOf<typeof serveSettings>;

export function readServeConfig(
  flags: Readonly<Record<string, string | boolean | undefined>>,
  filePath: string | undefined,
): ServeConfig {
  return readSettings(serveSettings, { prefix: "KEEP", flags, environment: process.env, filePath });
}
