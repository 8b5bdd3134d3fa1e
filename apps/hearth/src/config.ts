import { homedir } from "node:os";
import { delimiter } from "node:path";
import {
  byteSizeSetting,
  choiceSetting,
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
import { type EnginePlaces, type EngineWish, engineWishes } from "./engines/engine-programs.ts";

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

/** Where engines are looked for. */
export const enginePlaceSettings = {
  enginesFolder: textSetting({
    placeholder: "folder",
    fallback: "~/.hearth/engines",
    mostCharacters: 4096,
    meaning: "where engines are kept that were installed or built here",
  }),
  llamaServer: textSetting({
    placeholder: "program",
    fallback: undefined,
    mostCharacters: 4096,
    meaning: "a llama-server of llama.cpp to use; else it is looked for on the PATH",
  }),
} as const;

/** Which engine runs models of this machine. */
const engineSettings = {
  engine: {
    ...choiceSetting<EngineWish>({
      placeholder: "name",
      fallback: "auto",
      choices: engineWishes,
      meaning:
        "what runs models: binding, llama-server, xllamacpp, or auto for the fastest that is there and passes a self-test",
    }),
    // Nothing said is not auto: `hearth engine use` may have written a choice down.
    fallback: undefined,
    fallbackText: "what `hearth engine use` chose, else auto",
  },
  ...enginePlaceSettings,
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

/** What a request may bring from elsewhere. */
const imageSettings = {
  imageHosts: listSetting({
    placeholder: "hosts",
    mostItems: 64,
    check: (item) => (/^[a-z0-9._:[\]-]+$/iu.test(item) ? undefined : "is not a name or name:port"),
    meaning:
      "hosts whose images may be fetched when a request names one by its address, as images.example; https only, and none at a private address",
  }),
} as const;

/** Engines that run elsewhere. */
const gatewaySettings = {
  enginesFile: textSetting({
    placeholder: "file",
    fallback: undefined,
    mostCharacters: 4096,
    meaning:
      "models that run on other machines' engines, with their addresses; docs/deployment.md shows its form",
  }),
  drainSeconds: wholeNumberSetting({
    placeholder: "seconds",
    fallback: 0,
    least: 0,
    most: 3600,
    meaning:
      "how long requests are still taken after the server was asked to end, so that a balancer sees /readyz say no",
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
  logFile: textSetting({
    placeholder: "file",
    fallback: undefined,
    mostCharacters: 4096,
    meaning:
      "write the log to this file, which begins anew at 8 MB with the one before beside it, not to standard error",
  }),
  ...storeSettings,
  ...accessSettings,
  ...incomingSettings,
  ...schedulingSettings,
  ...engineSettings,
  ...transferSettings,
  ...imageSettings,
  ...memorySettings,
  ...gatewaySettings,
} as const;

export type ServeConfig = ValuesOf<typeof serveSettings>;

export function readServeConfig(
  flags: Readonly<Record<string, string | boolean | undefined>>,
  filePath: string | undefined,
): ServeConfig {
  const environment = withServerAddress(withHubToken(process.env));
  return readSettings(serveSettings, { prefix: "HEARTH", flags, environment, filePath });
}

/** The hub's own programs read this name, so people have it set already. */
function withHubToken(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { HF_TOKEN: token } = environment;
  return token === undefined || token === "" ? environment : { HEARTH_HUB_TOKEN: token, ...environment };
}

/** Commands take HEARTH_HOST as a whole address, so the server they share an environment with understands it too. */
function withServerAddress(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const [, host, port] =
    /^(?:https?:\/\/)?(\[[^\]]+\]|[^:/[\]]*)(?::(\d{1,5}))?\/*$/iu.exec(environment["HEARTH_HOST"] ?? "") ??
    [];
  if (host === undefined) return environment;
  return {
    ...environment,
    HEARTH_HOST: host.replaceAll(/[[\]]/gu, ""),
    ...(port === undefined ? {} : { HEARTH_PORT: port }),
  };
}

export function readStoreConfig(
  flags: Readonly<Record<string, string | boolean | undefined>>,
): ValuesOf<typeof storeSettings> {
  return readSettings(storeSettings, { prefix: "HEARTH", flags, environment: process.env });
}

/** Where engines are looked for, by the settings of `serve` or by the flags of another command. */
export function readEnginePlaces(
  flags: Readonly<Partial<Record<keyof typeof enginePlaceSettings, string | undefined>>>,
): EnginePlaces {
  const { enginesFolder, llamaServer } = readSettings(enginePlaceSettings, {
    prefix: "HEARTH",
    flags: { enginesFolder: flags.enginesFolder, llamaServer: flags.llamaServer },
    environment: process.env,
  });
  return {
    folder: enginesFolder.replace(/^~(?=\/)/u, homedir()),
    llamaServer,
    searchPath: (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== ""),
  };
}
