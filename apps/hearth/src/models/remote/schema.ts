import { type TSchema, Type } from "typebox";

/** A field of a TOML table: its schema, and the message for a value that does not match. */
export type Field = { readonly schema: TSchema; readonly message: string };

const dialects = ["llama-server", "vllm", "sglang", "openai"] as const;
const locations = ["pool", "remote"] as const;
export const remoteCapabilities = [
  "completion",
  "embedding",
  "vision",
  "audio",
  "tools",
  "insert",
  "thinking",
] as const;

const table = { schema: Type.Object({}), message: "must be a table" } as const satisfies Field;
const url = {
  schema: Type.String({ minLength: 1, maxLength: 2048 }),
  message: "must be a URL of at most 2048 characters",
} as const satisfies Field;
const path = {
  schema: Type.String({ minLength: 1, maxLength: 4096 }),
  message: "must be a path of 1 to 4096 characters",
} as const satisfies Field;
const dnsLabel = {
  schema: Type.String({ pattern: "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" }),
  message: "must be a name of lower-case letters, digits and hyphens",
} as const satisfies Field;

/** `[models.<name>]` in the engines file. */
export const modelFields = {
  dialect: { schema: Type.Enum(dialects), message: `must be one of ${dialects.join(", ")}` },
  model: {
    schema: Type.String({ minLength: 1, maxLength: 512 }),
    message: "must be a name of 1 to 512 characters",
  },
  addresses: {
    schema: Type.Array(Type.String({ maxLength: 2048 }), { minItems: 1, maxItems: 1024 }),
    message: "must be a list of 1 to 1024 URLs",
  },
  discover: table,
  key_file: path,
  context_tokens: {
    schema: Type.Integer({ minimum: 64, maximum: 16_777_216 }),
    message: "must be a whole number from 64 to 16777216",
  },
  requests_per_engine: {
    schema: Type.Integer({ minimum: 1, maximum: 10_000 }),
    message: "must be a whole number from 1 to 10000",
  },
  llm_d: table,
  location: { schema: Type.Enum(locations), message: `must be one of ${locations.join(", ")}` },
  capabilities: {
    schema: Type.Array(Type.Enum(remoteCapabilities), {
      maxItems: remoteCapabilities.length,
      uniqueItems: true,
    }),
    message: `must be a list of some of ${remoteCapabilities.join(", ")}`,
  },
} as const satisfies Readonly<Record<string, Field>>;

/** `llm_d` of a model. */
export const gatewayFields = {
  objective: {
    schema: Type.String({ pattern: "^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$" }),
    message: "must be the name of an InferenceObjective: lower-case letters, digits, hyphens and dots",
  },
} as const satisfies Readonly<Record<string, Field>>;

/** `discover` of a model. */
export const discoverFields = { dns: url, kubernetes: table } as const;

/** `discover.kubernetes` of a model. */
export const kubernetesFields = {
  namespace: dnsLabel,
  service: dnsLabel,
  port: {
    schema: Type.Integer({ minimum: 1, maximum: 65_535 }),
    message: "must be a whole number from 1 to 65535",
  },
  server: url,
  account_folder: path,
} as const satisfies Readonly<Record<string, Field>>;
