import { homedir } from "node:os";
import { delimiter } from "node:path";
import {
  booleanSetting,
  byteSizeSetting,
  choiceSetting,
  durationSetting,
  InvalidValueError,
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
import { loadSettings } from "./load-settings.ts";
import { retentionSettings } from "./retention-settings.ts";

/** Settings of the commands that open the model store directly, without a server. */
export const storeSettings = {
  models: textSetting({
    placeholder: "folder",
    defaultValue: "~/.hearth/models",
    maxLength: 4096,
    description: "folder to store models in; models of a local Ollama are served too, read-only",
  }),
} as const;

/** Where "hearth keys" and the server find keys with limits. */
export const keysDatabaseSettings = {
  keysDatabase: secretSetting({
    placeholder: "address",
    maxLength: 4096,
    description:
      'database of the keys that "hearth keys" creates: postgres://… for several nodes, or a file; without it ~/.hearth/keys.sqlite, if it exists',
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
  ...keysDatabaseSettings,
  usageRetention: durationSetting({
    placeholder: "time",
    defaultValue: 90 * 86_400,
    defaultText: "90d",
    description:
      "how long the usage of finished requests is kept in the database of the keys, e.g. 30d, 24h or forever; budgets do not depend on it",
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
    description: "maximum queued requests per model and key; further ones are rejected with Retry-After",
  }),
  maxQueueTotal: integerSetting({
    placeholder: "number",
    defaultValue: 512,
    min: 0,
    max: 100_000,
    description: "maximum queued requests across all models, apart from keys with few of them",
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
  speculation: choiceSetting<"off" | "auto">({
    placeholder: "mode",
    defaultValue: "off",
    choices: ["off", "auto"],
    description:
      "guess tokens that repeat the request's own text and verify several at once: auto where that is faster, or off",
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
  gpuDevices: {
    ...textSetting({
      placeholder: "numbers",
      defaultValue: undefined,
      maxLength: 64,
      description:
        "GPUs that the vulkan and cuda engines use, as their driver numbers them, e.g. 0 or 0,1; a software device only if it is listed",
    }),
    defaultText: "all",
    parse: (text: string) => {
      if (/^\d{1,3}(?:,\d{1,3}){0,15}$/u.test(text)) return text;
      throw new InvalidValueError(`must be numbers separated by commas; got "${text}"`);
    },
  },
} as const;

/** The engine that runs local models. */
const engineSettings = {
  engine: {
    ...choiceSetting<EnginePreference>({
      placeholder: "name",
      defaultValue: "auto",
      choices: enginePreferences,
      description:
        "engine that runs models: binding, llama-server, xllamacpp, vulkan, cuda, or auto for a GPU that passes its self-test, else the fastest engine",
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
  noRemote: booleanSetting({
    description:
      "refuse models whose engines are outside your own network, so that no prompt leaves it; see docs/hearth/deployment.md",
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

/** Where spans of requests are sent. */
const tracingSettings = {
  otlpEndpoint: {
    ...textSetting({
      placeholder: "url",
      defaultValue: undefined,
      maxLength: 2048,
      description:
        "OpenTelemetry collector that receives a span per inference request over OTLP/HTTP, e.g. http://127.0.0.1:4318; never prompts or outputs. OTEL_EXPORTER_OTLP_ENDPOINT works too",
    }),
    parse: (text: string) => {
      const { protocol = "", username = "", password = "" } = URL.parse(text) ?? {};
      if (/^https?:$/u.test(protocol) && username + password === "" && text.length <= 2048) return text;
      throw new InvalidValueError("must be an http or https URL without a user name or password");
    },
  },
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
  ...loadSettings,
  ...engineSettings,
  ...transferSettings,
  ...imageSettings,
  ...retentionSettings,
  ...remoteEngineSettings,
  ...tracingSettings,
} as const;

export type ServeConfig = ValuesOf<typeof serveSettings>;

export function readServeConfig(flags: Flags, filePath: string | undefined): ServeConfig {
  const environment = splitVariable(withStandardNames(process.env));
  const known = splitFlag(withNegation(flags));
  return readSettings(serveSettings, { prefix: "HEARTH", flags: known, environment, filePath });
}

/** The parser of flags reads `--no-remote` as the negation of a flag `--remote`. */
function withNegation({ remote, ...flags }: Flags): Flags {
  return remote === false ? { ...flags, noRemote: true } : flags;
}

/** The variables of Hugging Face's and OpenTelemetry's own tools are often set already. */
function withStandardNames(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { HF_TOKEN: token, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = environment;
  return {
    ...(token === undefined || token === "" ? {} : { HEARTH_HUB_TOKEN: token }),
    ...(endpoint === undefined || endpoint === "" ? {} : { HEARTH_OTLP_ENDPOINT: endpoint }),
    ...environment,
  };
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

export function readKeysConfig(flags: Flags): ValuesOf<typeof keysDatabaseSettings> {
  return readSettings(keysDatabaseSettings, { prefix: "HEARTH", flags, environment: process.env });
}

export function readStoreConfig(flags: Flags): ValuesOf<typeof storeSettings> {
  return readSettings(storeSettings, { prefix: "HEARTH", flags, environment: process.env });
}

/** Engine locations from the settings of `serve` or from another command's flags. */
export function readEngineLocations(
  flags: Readonly<Partial<Record<keyof typeof engineLocationSettings, string | undefined>>>,
): EngineLocations {
  const { enginesFolder, llamaServer, gpuDevices } = readSettings(engineLocationSettings, {
    prefix: "HEARTH",
    flags: {
      enginesFolder: flags.enginesFolder,
      llamaServer: flags.llamaServer,
      gpuDevices: flags.gpuDevices,
    },
    environment: process.env,
  });
  return {
    folder: enginesFolder.replace(/^~(?=\/)/u, homedir()),
    llamaServer,
    gpuDevices,
    searchPath: (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== ""),
  };
}
