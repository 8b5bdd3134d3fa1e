import { homedir } from "node:os";
import { delimiter } from "node:path";
import {
  booleanSetting,
  byteSizeSetting,
  choiceSetting,
  durationSetting,
  integerSetting,
  listSetting,
  readSettings,
  secretSetting,
  serverSettings,
  textSetting,
  transportSettings,
  type ValuesOf,
} from "@hearth-and-keep/configuration";
import { type EngineLocations, type EnginePreference, enginePreferences } from "./engines/engine-programs.ts";

/** Settings of the commands that open the model store directly, without a server. */
export const storeSettings = {
  models: textSetting({
    placeholder: "folder",
    defaultValue: "~/.hearth/models",
    maxLength: 4096,
    description: "folder to store models in; models of a local Ollama are served too, read-only",
  }),
} as const;

/** Authentication, and the Host and Origin headers that are accepted. */
const accessSettings = {
  apiKey: secretSetting({
    placeholder: "key",
    maxLength: 1024,
    description:
      "require this key on every request; other users of this machine can see flags, so prefer HEARTH_API_KEY_FILE",
  }),
  apiKeysFile: textSetting({
    placeholder: "file",
    defaultValue: undefined,
    maxLength: 4096,
    description:
      "require one of several keys, one name:key per line, or name:key admin for a key that may also change models; names appear in the log",
  }),
  sharePromptCache: booleanSetting({
    description:
      "share the prompt cache between keys; faster, but a key can then detect which prompts others sent",
  }),
  allowedHosts: listSetting({
    placeholder: "hosts",
    maxItems: 64,
    check: (item) => (/^[a-z0-9*._:[\]-]+$/iu.test(item) ? undefined : "is not a host or host:port"),
    description:
      "additional host names to accept requests for, comma-separated; localhost, and IP addresses on a non-loopback bind, always work",
  }),
  allowedOrigins: listSetting({
    placeholder: "origins",
    maxItems: 64,
    check: (item) =>
      /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/[^/\s]*)$/iu.test(item) ? undefined : "is not scheme://host or null",
    description:
      "browser origins allowed to call the API, comma-separated, e.g. https://site.example; local pages and desktop apps always work",
  }),
  allowInsecureBind: booleanSetting({
    description: "allow other machines to connect without an API key, on a --host that is not loopback",
  }),
} as const;

/** TLS, proxies, and when response headers are sent. */
const requestSettings = {
  ...transportSettings,
  earlyHeaders: booleanSetting({
    description:
      "send the headers of a non-streaming response after four minutes, for clients that time out after five; a later failure then has status 200",
  }),
} as const;

/** Parallelism, queueing, and memory of loaded models. */
const schedulingSettings = {
  contextLength: integerSetting({
    placeholder: "tokens",
    defaultValue: undefined,
    defaultText: "as much as model and memory allow",
    min: 64,
    max: 16_777_216,
    description: "context length of requests that set no num_ctx; allocated only as far as it is needed",
  }),
  parallelRequests: integerSetting({
    placeholder: "number",
    defaultValue: 8,
    min: 1,
    max: 256,
    description: "requests each model processes in parallel, memory permitting",
  }),
  maxQueue: integerSetting({
    placeholder: "number",
    defaultValue: 64,
    min: 0,
    max: 100_000,
    description: "maximum queued requests per model; further ones are rejected with a Retry-After header",
  }),
  maxQueueTotal: integerSetting({
    placeholder: "number",
    defaultValue: 512,
    min: 0,
    max: 100_000,
    description: "maximum queued requests across all models",
  }),
  keepAlive: durationSetting({
    placeholder: "time",
    defaultValue: 300,
    defaultText: "5m",
    description: "how long a model stays loaded after its last request, e.g. 30s, 5m, 2h or forever",
  }),
  memoryBudget: byteSizeSetting({
    placeholder: "size",
    defaultText: "80% of memory",
    description:
      "memory for all loaded models together, e.g. 12GiB; the least recently used one is unloaded first",
  }),
  seed: integerSetting({
    placeholder: "number",
    defaultValue: -1,
    min: -1,
    max: 4_294_967_295,
    description:
      "seed for requests and models that set none, for repeatable output; -1 draws one per request",
  }),
  threads: integerSetting({
    placeholder: "number",
    defaultValue: 0,
    min: 0,
    max: 1024,
    description: "CPU threads per model; 0 chooses automatically from the free cores",
  }),
} as const;

/** Where engines are installed and searched for. */
export const engineLocationSettings = {
  enginesFolder: textSetting({
    placeholder: "folder",
    defaultValue: "~/.hearth/engines",
    maxLength: 4096,
    description: 'folder for engines installed or built by "hearth engine"',
  }),
  llamaServer: textSetting({
    placeholder: "program",
    defaultValue: undefined,
    maxLength: 4096,
    description: "path of llama.cpp's llama-server; without it, the PATH is searched",
  }),
} as const;

/** The engine that runs local models. */
const engineSettings = {
  engine: {
    ...choiceSetting<EnginePreference>({
      placeholder: "name",
      defaultValue: "auto",
      choices: enginePreferences,
      description:
        "engine that runs models: binding, llama-server, xllamacpp, or auto for the fastest one that passes its self-test",
    }),
    // Unset differs from auto: unset uses the choice stored by `hearth engine use`.
    defaultValue: undefined,
    defaultText: 'the choice of "hearth engine use", else auto',
  },
  ...engineLocationSettings,
} as const;

/** Pulling and pushing models. */
const transferSettings = {
  privateRegistries: listSetting({
    placeholder: "hosts",
    maxItems: 64,
    check: (item) => (/^[a-z0-9._:[\]-]+$/iu.test(item) ? undefined : "is not a host or host:port"),
    description:
      "registries allowed at private addresses, comma-separated, e.g. registry.lan:5000; plain HTTP too, if a request asks for it",
  }),
  dockerConfig: textSetting({
    placeholder: "file",
    defaultValue: "~/.docker/config.json",
    maxLength: 4096,
    description: "Docker configuration with registry credentials; each is sent to its own registry only",
  }),
  hubToken: secretSetting({
    placeholder: "token",
    maxLength: 1024,
    description: "token for private and gated models on the Hugging Face Hub; HF_TOKEN works too",
  }),
  pullRateLimit: byteSizeSetting({
    placeholder: "size",
    defaultText: "no limit",
    description: "maximum bytes per second for all pulls together, e.g. 20MiB",
  }),
} as const;

/** Images that requests refer to by URL. */
const imageSettings = {
  imageHosts: listSetting({
    placeholder: "hosts",
    maxItems: 64,
    check: (item) => (/^[a-z0-9._:[\]-]+$/iu.test(item) ? undefined : "is not a host or host:port"),
    description:
      "hosts that image URLs in requests may point to, comma-separated, e.g. images.example; HTTPS and public addresses only",
  }),
} as const;

/** Remote engines, and draining behind a load balancer. */
const remoteEngineSettings = {
  enginesFile: textSetting({
    placeholder: "file",
    defaultValue: undefined,
    maxLength: 4096,
    description:
      "TOML file that lists remote engines and the models they serve; see docs/hearth/deployment.md for the format",
  }),
  drainSeconds: integerSetting({
    placeholder: "seconds",
    defaultValue: 0,
    min: 0,
    max: 3600,
    description:
      "how long to keep accepting requests after a stop signal while /readyz reports 503, so that load balancers can react",
  }),
} as const;

/** Responses and conversations that later requests can continue. */
const responseStoreSettings = {
  maxStoredResponses: integerSetting({
    placeholder: "number",
    defaultValue: 512,
    min: 0,
    max: 100_000,
    description:
      "responses and conversations of the Responses API kept per key, for requests that continue them by id; 0 stores none",
  }),
  responseMemory: byteSizeSetting({
    placeholder: "size",
    defaultText: "64MiB",
    description: "memory for the stored responses of each key; the least recently used one is deleted first",
  }),
  responseMemoryTotal: byteSizeSetting({
    placeholder: "size",
    defaultText: "256MiB",
    description: "memory for the stored responses of all keys together",
  }),
  responseIdle: durationSetting({
    placeholder: "time",
    defaultValue: 86_400,
    defaultText: "24h",
    description: "how long a stored response is kept after it was last used, e.g. 30m, 24h or forever",
  }),
  responseFolder: textSetting({
    placeholder: "folder",
    defaultValue: undefined,
    maxLength: 4096,
    description:
      "also store responses in this folder, so that they survive a restart; encrypted with a key of this machine, one folder per server",
  }),
} as const;

/** Requests that run in the background, and the files of their requests and results. */
const batchSettings = {
  maxBatches: integerSetting({
    placeholder: "number",
    defaultValue: 100,
    min: 0,
    max: 10_000,
    description: "batches of the OpenAI API, and of the Anthropic API, kept per key; 0 accepts none",
  }),
  batchMemory: byteSizeSetting({
    placeholder: "size",
    defaultText: "64MiB",
    description: "memory for the batches and uploaded files of each key",
  }),
  batchMemoryTotal: byteSizeSetting({
    placeholder: "size",
    defaultText: "256MiB",
    description: "memory for the batches and uploaded files of all keys together",
  }),
} as const;

/** All settings of `hearth serve`. Its help text and the settings page are generated from this. */
export const serveSettings = {
  ...serverSettings(11_434),
  logFile: textSetting({
    placeholder: "file",
    defaultValue: undefined,
    maxLength: 4096,
    description:
      "write the log to this file instead of standard error; rotated at 8 MB, with one old file kept",
  }),
  ...storeSettings,
  ...accessSettings,
  ...requestSettings,
  ...schedulingSettings,
  ...engineSettings,
  ...transferSettings,
  ...imageSettings,
  ...responseStoreSettings,
  ...batchSettings,
  ...remoteEngineSettings,
} as const;

export type ServeConfig = ValuesOf<typeof serveSettings>;

export function readServeConfig(flags: Flags, filePath: string | undefined): ServeConfig {
  const environment = splitVariable(withHubToken(process.env));
  return readSettings(serveSettings, { prefix: "HEARTH", flags: splitFlag(flags), environment, filePath });
}

/** `HF_TOKEN` is the variable of Hugging Face's own tools, so it is often set already. */
function withHubToken(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { HF_TOKEN: token } = environment;
  return token === undefined || token === "" ? environment : { HEARTH_HUB_TOKEN: token, ...environment };
}

/** Client commands accept `host:port` and URLs in HEARTH_HOST; `serve` accepts them too, as both share an environment. */
function splitVariable(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { host, port } = splitAddress(environment["HEARTH_HOST"] ?? "");
  if (host === undefined) return environment;
  return { ...environment, HEARTH_HOST: host, ...(port === undefined ? {} : { HEARTH_PORT: port }) };
}

type Flags = Readonly<Record<string, string | boolean | undefined>>;

/** The same for `--host`; `--port` takes precedence over a port in it. */
function splitFlag(flags: Flags): Flags {
  const { host, port } = typeof flags["host"] === "string" ? splitAddress(flags["host"]) : {};
  if (host === undefined) return flags;
  return { ...flags, host, ...(port === undefined || flags["port"] !== undefined ? {} : { port }) };
}

function splitAddress(address: string): { readonly host?: string; readonly port?: string } {
  const [, host, port] = /^(?:https?:\/\/)?(\[[^\]]+\]|[^:/[\]]*)(?::(\d{1,5}))?\/*$/iu.exec(address) ?? [];
  if (host === undefined) return {};
  return { host: host.replaceAll(/[[\]]/gu, ""), ...(port === undefined ? {} : { port }) };
}

export function readStoreConfig(flags: Flags): ValuesOf<typeof storeSettings> {
  return readSettings(storeSettings, { prefix: "HEARTH", flags, environment: process.env });
}

/** Engine locations from the settings of `serve` or from another command's flags. */
export function readEngineLocations(
  flags: Readonly<Partial<Record<keyof typeof engineLocationSettings, string | undefined>>>,
): EngineLocations {
  const { enginesFolder, llamaServer } = readSettings(engineLocationSettings, {
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
