import {
  readSettings,
  secretSetting,
  serverSettings,
  textSetting,
  transportSettings,
  type ValuesOf,
  wholeNumberSetting,
} from "@hearth-and-keep/configuration";

/** Where everything is kept, and what opens it. */
export const storageSettings = {
  databaseUrl: secretSetting({
    placeholder: "url",
    mostCharacters: 2048,
    meaning: "PostgreSQL database, as postgres://user:password@host:5432/name",
  }),
  migrationDatabaseUrl: secretSetting({
    placeholder: "url",
    mostCharacters: 2048,
    meaning: "the same database with the login that owns it, when the one above should own nothing",
  }),
  encryptionKey: secretSetting({
    placeholder: "key",
    mostCharacters: 1024,
    meaning:
      "key that seals every vault's data key: 32 bytes in base64, from keep make-key; older ones may follow after commas, until nothing needs them",
  }),
} as const;

/** Who signs people in. A provider without a client id is not offered. */
const signInSettings = {
  publicUrl: textSetting({
    placeholder: "url",
    fallback: undefined,
    mostCharacters: 512,
    meaning: "where people reach Keep, as https://keep.example; providers send them back there",
  }),
  codeHostingName: textSetting({
    placeholder: "name",
    fallback: "GitHub",
    mostCharacters: 64,
    meaning: "what the code-hosting provider is called on the sign-in page",
  }),
  codeHostingUrl: textSetting({
    placeholder: "url",
    fallback: "https://github.com",
    mostCharacters: 512,
    meaning: "the code-hosting provider: GitHub, GitHub Enterprise or Gitea",
  }),
  codeHostingApiUrl: textSetting({
    placeholder: "url",
    fallback: undefined,
    mostCharacters: 512,
    meaning:
      "its API; unless set https://api.github.com for GitHub, /api/v3 under the address above for the others",
  }),
  codeHostingClientId: textSetting({
    placeholder: "id",
    fallback: undefined,
    mostCharacters: 255,
    meaning: "the id of the OAuth application made for Keep there",
  }),
  codeHostingClientSecret: secretSetting({
    placeholder: "secret",
    mostCharacters: 512,
    meaning: "its secret",
  }),
  generalName: textSetting({
    placeholder: "name",
    fallback: "Google",
    mostCharacters: 64,
    meaning: "what the general-purpose provider is called on the sign-in page",
  }),
  generalIssuer: textSetting({
    placeholder: "url",
    fallback: "https://accounts.google.com",
    mostCharacters: 512,
    meaning: "the general-purpose provider: any issuer of OpenID Connect with discovery",
  }),
  generalClientId: textSetting({
    placeholder: "id",
    fallback: undefined,
    mostCharacters: 255,
    meaning: "the id of the client registered for Keep there",
  }),
  generalClientSecret: secretSetting({ placeholder: "secret", mostCharacters: 512, meaning: "its secret" }),
  sessionIdleMinutes: wholeNumberSetting({
    placeholder: "minutes",
    fallback: 720,
    least: 1,
    most: 525_600,
    meaning: "a session ends when nothing was asked with it for so long",
  }),
  sessionLifetimeHours: wholeNumberSetting({
    placeholder: "hours",
    fallback: 168,
    least: 1,
    most: 8760,
    meaning: "a session ends after so long in any case",
  }),
} as const;

/** The way requests come in, and how many. */
const incomingSettings = {
  ...transportSettings,
  readsPerMinute: wholeNumberSetting({
    placeholder: "number",
    fallback: 6000,
    least: 1,
    most: 10_000_000,
    meaning: "requests that only read, of one token or session in a minute, over all nodes",
  }),
  writesPerMinute: wholeNumberSetting({
    placeholder: "number",
    fallback: 600,
    least: 1,
    most: 10_000_000,
    meaning: "the same for requests that change something",
  }),
} as const;

/** How others watch. */
const sightSettings = {
  metricsPort: wholeNumberSetting({
    placeholder: "port",
    fallback: 8301,
    least: 0,
    most: 65_535,
    meaning: "port of the metrics for Prometheus, on the same host; 0 takes any free one",
  }),
  auditCheckpointFile: textSetting({
    placeholder: "file",
    fallback: undefined,
    mostCharacters: 4096,
    meaning:
      "where signed checkpoints of the audit log are added as well, outside the database: what finds a database that was put back",
  }),
  auditCheckpointSeconds: wholeNumberSetting({
    placeholder: "seconds",
    fallback: 60,
    least: 1,
    most: 86_400,
    meaning: "how long an audit log may grow without a signed checkpoint",
  }),
} as const;

/** Everything that can be set on `keep serve`. Its help text and the settings page are made from this. */
export const serveSettings = {
  ...serverSettings(8300),
  ...storageSettings,
  ...signInSettings,
  ...incomingSettings,
  ...sightSettings,
} as const;

export type ServeConfig = ValuesOf<typeof serveSettings>;
export type StorageConfig = ValuesOf<typeof storageSettings>;

type Flags = Readonly<Record<string, string | boolean | undefined>>;

export function readServeConfig(flags: Flags, filePath: string | undefined): ServeConfig {
  return readSettings(serveSettings, { prefix: "KEEP", flags, environment: process.env, filePath });
}

/** For commands that work on the database and need no server. */
export function readStorageConfig(flags: Flags, filePath: string | undefined): StorageConfig {
  return readSettings(storageSettings, { prefix: "KEEP", flags, environment: process.env, filePath });
}
