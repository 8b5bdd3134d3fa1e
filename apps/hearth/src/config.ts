import {
  byteSizeSetting,
  durationSetting,
  listSetting,
  readSettings,
  secretSetting,
  serverSettings,
  switchSetting,
  textSetting,
  transportSettings,
  type ValuesOf,
  wholeNumberSetting,
} from "@hearth-and-keep/configuration";

/** Everything that commands which work on the store themselves let a person set. */
export const storeSettings = {
  models: textSetting({
    placeholder: "folder",
    fallback: "~/.hearth/models",
    mostCharacters: 4096,
    meaning: "where models are kept; those of an Ollama on this machine are served too, and never changed",
  }),
} as const;

/** Who may call. */
const accessSettings = {
  apiKey: secretSetting({
    placeholder: "key",
    mostCharacters: 1024,
    meaning:
      "turn on authentication: every request must carry this key; people here can see flags, HEARTH_API_KEY_FILE names a file instead",
  }),
  apiKeysFile: textSetting({
    placeholder: "file",
    fallback: undefined,
    mostCharacters: 4096,
    meaning: "turn on authentication with several keys: one name:key a line; the name appears in the log",
  }),
  sharePromptCache: switchSetting({
    meaning: "let a prompt read for one key speed up the others; a key can then find out what others asked",
  }),
  allowedHosts: listSetting({
    placeholder: "hosts",
    mostItems: 64,
    check: (item) => (/^[a-z0-9*._:[\]-]+$/iu.test(item) ? undefined : "is not a name or name:port"),
    meaning:
      "names this server may be called by, with commas between; localhost, and addresses on an open bind, always may",
  }),
  allowedOrigins: listSetting({
    placeholder: "origins",
    mostItems: 64,
    check: (item) =>
      /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/[^/\s]*)$/iu.test(item) ? undefined : "is not scheme://host or null",
    meaning:
      "sites whose pages may call, as https://site.example; pages of this machine and desktop programs always may",
  }),
  allowInsecureBind: switchSetting({
    meaning: "bind an address that other machines reach, although nothing asks them for a key",
  }),
} as const;

/** The way requests come in. */
const incomingSettings = {
  ...transportSettings,
  earlyHeaders: switchSetting({
    meaning:
      "begin an answer that is not streamed after four minutes, for clients that give up after five; a later failure then has status 200",
  }),
} as const;

/** How many requests run at once, how long they wait, and what that may cost. */
const schedulingSettings = {
  contextLength: wholeNumberSetting({
    placeholder: "tokens",
    fallback: 8192,
    least: 64,
    most: 16_777_216,
    meaning: "context of each request, unless it asks for more or the model was made for less",
  }),
  parallelRequests: wholeNumberSetting({
    placeholder: "number",
    fallback: 8,
    least: 1,
    most: 256,
    meaning: "requests that one model answers at once, where memory allows",
  }),
  waitingLine: wholeNumberSetting({
    placeholder: "number",
    fallback: 64,
    least: 0,
    most: 100_000,
    meaning: "requests that may wait for one model; the next one is told to come back later",
  }),
  waitingInAll: wholeNumberSetting({
    placeholder: "number",
    fallback: 512,
    least: 0,
    most: 100_000,
    meaning: "requests that may wait for all models together",
  }),
  keepAlive: durationSetting({
    placeholder: "time",
    fallback: 300,
    fallbackText: "5m",
    meaning: "how long a model stays in memory after its last use, as 30s, 5m, 2h or forever",
  }),
  memoryBudget: byteSizeSetting({
    placeholder: "size",
    fallbackText: "80% of memory",
    meaning: "memory for all loaded models together, as 12GiB; the least recently used one leaves first",
  }),
  threads: wholeNumberSetting({
    placeholder: "number",
    fallback: 0,
    least: 0,
    most: 1024,
    meaning: "processor threads for each model; 0 chooses by looking for free cores and measuring",
  }),
} as const;

/** Where models come from and go to. */
const transferSettings = {
  privateRegistries: listSetting({
    placeholder: "hosts",
    mostItems: 64,
    check: (item) => (/^[a-z0-9._:[\]-]+$/iu.test(item) ? undefined : "is not a name or name:port"),
    meaning:
      "registries that may be at private addresses, as registry.lan:5000; plain http too when a request asks for it",
  }),
  dockerConfig: textSetting({
    placeholder: "file",
    fallback: "~/.docker/config.json",
    mostCharacters: 4096,
    meaning: "where Docker keeps passwords for registries; each is shown to its own registry alone",
  }),
  hubToken: secretSetting({
    placeholder: "token",
    mostCharacters: 1024,
    meaning: "for private and gated models of the Hugging Face Hub; HF_TOKEN is read too",
  }),
  pullRate: byteSizeSetting({
    placeholder: "size",
    fallbackText: "no limit",
    meaning: "bytes per second that all pulls together may take, as 20MiB",
  }),
} as const;

/** What is kept beyond an answer. */
const memorySettings = {
  keepResponses: wholeNumberSetting({
    placeholder: "number",
    fallback: 0,
    least: 0,
    most: 100_000,
    meaning:
      "responses kept in memory for each key, so that previous_response_id can continue them; 0 keeps none",
  }),
} as const;

/** Everything that can be set on `hearth serve`. Its help text and the settings page are made from this. */
export const serveSettings = {
  ...serverSettings(11_434),
  ...storeSettings,
  ...accessSettings,
  ...incomingSettings,
  ...schedulingSettings,
  ...transferSettings,
  ...memorySettings,
} as const;

export type ServeConfig = ValuesOf<typeof serveSettings>;

export function readServeConfig(
  flags: Readonly<Record<string, string | boolean | undefined>>,
  filePath: string | undefined,
): ServeConfig {
  const environment = withHubToken(process.env);
  return readSettings(serveSettings, { prefix: "HEARTH", flags, environment, filePath });
}

/** The hub's own programs read this name, so people have it set already. */
function withHubToken(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { HF_TOKEN: token } = environment;
  return token === undefined || token === "" ? environment : { HEARTH_HUB_TOKEN: token, ...environment };
}

export function readStoreConfig(
  flags: Readonly<Record<string, string | boolean | undefined>>,
): ValuesOf<typeof storeSettings> {
  return readSettings(storeSettings, { prefix: "HEARTH", flags, environment: process.env });
}
