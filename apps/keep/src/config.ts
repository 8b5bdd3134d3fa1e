import {
  booleanSetting,
  choiceSetting,
  integerSetting,
  listSetting,
  readSettings,
  secretSetting,
  serverSettings,
  textSetting,
  transportSettings,
  type ValuesOf,
} from "@hearth-and-keep/configuration";
import { canonicalDomain } from "./admission/email-domain.ts";
import { custodySettings } from "./keys/custody/config.ts";

/** The database and the key that encrypts its contents. */
export const storageSettings = {
  databaseUrl: secretSetting({
    hasFlag: false,
    placeholder: "url",
    maxLength: 2048,
    description: "PostgreSQL database, e.g. postgres://user:password@host:5432/name",
  }),
  migrationDatabaseUrl: secretSetting({
    hasFlag: false,
    placeholder: "url",
    maxLength: 2048,
    description:
      "the same database with its owner's login, used for migrations and to erase and archive audit records, so that the login above needs no ownership",
  }),
  encryptionKey: secretSetting({
    hasFlag: false,
    placeholder: "key",
    maxLength: 1024,
    description:
      "key that encrypts every vault's data key: 32 bytes in base64, from keep generate-key; further keys, comma-separated, only decrypt, for a rotation",
  }),
  ...custodySettings,
} as const;

/** Sign-in providers. A provider without a client id is disabled. */
const signInSettings = {
  dev: booleanSetting({
    description:
      "try Keep without a provider: whoever can open it on this machine signs in under any name; never with real secrets",
  }),
  publicUrl: textSetting({
    placeholder: "url",
    defaultValue: undefined,
    maxLength: 512,
    description: "URL at which people reach Keep, e.g. https://keep.example; providers redirect there",
  }),
  codeHostingName: textSetting({
    placeholder: "name",
    defaultValue: "GitHub",
    maxLength: 64,
    description: "name of the code-hosting provider on the sign-in page",
  }),
  codeHostingUrl: textSetting({
    placeholder: "url",
    defaultValue: "https://github.com",
    maxLength: 512,
    description: "URL of the code-hosting provider: GitHub, GitHub Enterprise or Gitea",
  }),
  codeHostingApiUrl: textSetting({
    placeholder: "url",
    defaultValue: undefined,
    maxLength: 512,
    description:
      "URL of its API; by default https://api.github.com for GitHub, and /api/v3 under its URL for the others",
  }),
  codeHostingClientId: textSetting({
    placeholder: "id",
    defaultValue: undefined,
    maxLength: 255,
    description: "client id of the OAuth application registered there for Keep",
  }),
  codeHostingClientSecret: secretSetting({
    hasFlag: false,
    placeholder: "secret",
    maxLength: 512,
    description: "client secret of that application",
  }),
  generalName: textSetting({
    placeholder: "name",
    defaultValue: "Google",
    maxLength: 64,
    description: "name of the general-purpose provider on the sign-in page",
  }),
  generalIssuer: textSetting({
    placeholder: "url",
    defaultValue: "https://accounts.google.com",
    maxLength: 512,
    description: "issuer URL of the general-purpose provider: any OpenID Connect provider with discovery",
  }),
  generalClientId: textSetting({
    placeholder: "id",
    defaultValue: undefined,
    maxLength: 255,
    description: "client id registered there for Keep",
  }),
  generalClientSecret: secretSetting({
    hasFlag: false,
    placeholder: "secret",
    maxLength: 512,
    description: "client secret of that client",
  }),
  sessionIdleMinutes: integerSetting({
    placeholder: "minutes",
    defaultValue: 720,
    min: 1,
    max: 525_600,
    description: "minutes without a request after which a session expires",
  }),
  sessionLifetimeHours: integerSetting({
    placeholder: "hours",
    defaultValue: 168,
    min: 1,
    max: 8760,
    description: "hours after which a session expires in any case",
  }),
} as const;

const isIdentity = (item: string): string | undefined =>
  /^(?:code-hosting|general):[\x21-\x7e]{1,255}$/u.test(item)
    ? undefined
    : "is not a provider and a subject, e.g. code-hosting:12345";

/** Who may sign in. Rules are checked at every sign-in, and any of them admits. */
const admissionSettings = {
  admission: choiceSetting({
    placeholder: "mode",
    choices: ["open", "invitation", "rules"],
    defaultValue: "open",
    description:
      "people who may sign in: open (all whom a provider authenticates), invitation (accounts that exist) or rules (people whom one of the rules below admits); operators always may",
  }),
  allowedEmailDomains: listSetting({
    placeholder: "domains",
    maxItems: 100,
    check: (item) => (canonicalDomain(item) === undefined ? "is not a domain, e.g. example.com" : undefined),
    description:
      "rule: people with a verified e-mail address of one of these domains, comma-separated; subdomains are other domains",
  }),
  allowedCodeHostingOrgs: listSetting({
    placeholder: "names",
    maxItems: 20,
    check: (item) =>
      /^[A-Za-z0-9][A-Za-z0-9-]{0,38}(?:\/[A-Za-z0-9][A-Za-z0-9._-]{0,99})?$/u.test(item)
        ? undefined
        : "is not an organization or a team of one, e.g. acme or acme/platform",
    description:
      "rule: active members of these organizations or teams of GitHub, e.g. acme or acme/platform, comma-separated",
  }),
  codeHostingMembershipTokenFile: textSetting({
    placeholder: "file",
    defaultValue: undefined,
    maxLength: 4096,
    description:
      "file with a token that may read the members of these organizations; with it, Keep notices memberships that end without a sign-in",
  }),
  membershipCheckMinutes: integerSetting({
    placeholder: "minutes",
    defaultValue: 10,
    min: 1,
    max: 15,
    description: "minutes between two checks of memberships with that token, over all nodes",
  }),
  allowedGroups: listSetting({
    placeholder: "groups",
    maxItems: 200,
    description: "rule: people of these groups of the general-purpose provider, comma-separated",
  }),
  allowedIdentities: listSetting({
    placeholder: "identities",
    maxItems: 1000,
    check: isIdentity,
    description:
      "rule: these identities, e.g. code-hosting:12345 or general:SUBJECT, comma-separated; the refusal names a person's own",
  }),
  groupsClaim: textSetting({
    placeholder: "name",
    defaultValue: undefined,
    maxLength: 255,
    description:
      "claim of the general-purpose provider's ID token that lists a person's groups; if it is set, groups fill teams; rules read groups without it",
  }),
  groupsScope: textSetting({
    placeholder: "scope",
    defaultValue: undefined,
    maxLength: 255,
    description: "scope to request for that claim, where the provider needs one, e.g. groups",
  }),
  operators: listSetting({
    placeholder: "identities",
    maxItems: 100,
    check: isIdentity,
    description:
      "identities that become operators when they sign in, and may always sign in, e.g. code-hosting:12345, comma-separated",
  }),
} as const;

/** Transport and rate limits. */
const incomingSettings = {
  ...transportSettings,
  readsPerMinute: integerSetting({
    placeholder: "number",
    defaultValue: 6000,
    min: 1,
    max: 10_000_000,
    description: "read requests per minute of one token or session, over all nodes",
  }),
  writesPerMinute: integerSetting({
    placeholder: "number",
    defaultValue: 600,
    min: 1,
    max: 10_000_000,
    description: "write requests per minute of one token or session, over all nodes",
  }),
} as const;

const tokenSettings = {
  tokenLifetimeDays: integerSetting({
    placeholder: "days",
    defaultValue: 90,
    min: 1,
    max: 3650,
    description:
      "days after which a token expires that is created through the API without expires_at; null in the request means never",
  }),
  privateIssuers: listSetting({
    placeholder: "hosts",
    maxItems: 100,
    check: (item) =>
      /^[A-Za-z0-9.-]{1,253}(?::[0-9]{1,5})?$/u.test(item) ? undefined : "is not a host, e.g. gitlab.lan",
    description:
      "issuers of workload identity that may be at private addresses, e.g. gitlab.lan or gitlab.lan:8443, comma-separated",
  }),
} as const;

/** Metrics and audit checkpoints. */
const observabilitySettings = {
  metricsHost: textSetting({
    placeholder: "host",
    defaultValue: "127.0.0.1",
    maxLength: 255,
    description:
      "address on which the Prometheus metrics are served, e.g. 0.0.0.0 for all; they need no credential",
  }),
  metricsPort: integerSetting({
    placeholder: "port",
    defaultValue: 8301,
    min: 0,
    max: 65_535,
    description: "port of the Prometheus metrics; 0 selects a free port",
  }),
  auditCheckpointFile: textSetting({
    placeholder: "file",
    defaultValue: undefined,
    maxLength: 4096,
    description:
      "file to which signed audit checkpoints are appended, outside the database; detects a restored (rolled-back) database",
  }),
  auditCheckpointSeconds: integerSetting({
    placeholder: "seconds",
    defaultValue: 60,
    min: 1,
    max: 86_400,
    description: "seconds between signed checkpoints in that file",
  }),
} as const;

/** Settings of `keep serve`. Its help text and the settings page are generated from them. */
export const serveSettings = {
  ...serverSettings(8300),
  ...storageSettings,
  ...signInSettings,
  ...admissionSettings,
  ...incomingSettings,
  ...tokenSettings,
  ...observabilitySettings,
} as const;

export type ServeConfig = ValuesOf<typeof serveSettings>;
export type StorageConfig = ValuesOf<typeof storageSettings>;

type Flags = Readonly<Record<string, string | boolean | undefined>>;

export function readServeConfig(flags: Flags, filePath: string | undefined): ServeConfig {
  return readSettings(serveSettings, { prefix: "KEEP", flags, environment: process.env, filePath });
}

/** For commands that use the database without a server. */
export function readStorageConfig(flags: Flags, filePath: string | undefined): StorageConfig {
  return readSettings(storageSettings, { prefix: "KEEP", flags, environment: process.env, filePath });
}
