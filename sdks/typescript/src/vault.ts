import { readSettings, type Settings, type VaultOptions } from "./config.ts";
import { AccessDeniedError, ConfigurationError } from "./errors.ts";
import { fieldOf, type HttpRequest, type HttpResponse, sendRequest, unexpected } from "./http.ts";
import type {
  NamedValue,
  NewSecret,
  SecretMetadata,
  SecretPage,
  SecretValue,
  SecretValues,
} from "./responses.ts";
import { Secret, Secrets } from "./secrets.ts";
import { createValueCache, type ValueCache } from "./value-cache.ts";
import { exchangedToken, fixedToken, type TokenSource } from "./workload.ts";

export type ReadOptions = {
  /** Only these secrets of the folder; fails when one does not exist. */
  readonly names?: readonly string[];
  /** Also those of its subfolders. */
  readonly recursive?: boolean;
  /** Also what an environment inherits from the vault's base. */
  readonly inherit?: boolean;
  /** References such as `${/prod/HOST}` as they are written. */
  readonly raw?: boolean;
};

export type WriteOptions = Pick<NewSecret, "type" | "tags" | "note"> & {
  /** The write fails unless this is the revision of the secret. */
  readonly ifRevision?: number;
  /** The write fails if the secret exists. */
  readonly create?: boolean;
};

export type Vault = {
  /** The value at a path, e.g. `/prod/DATABASE_URL`. */
  get(path: string, options?: Pick<ReadOptions, "raw">): Promise<Secret>;
  /** The values of a folder, in one request. */
  getMany(folder: string, options?: ReadOptions): Promise<Secrets>;
  /** Calls the function with the values of a folder, and then clears them. Nothing is cached. */
  withSecrets<Result>(
    folder: string,
    use: (secrets: Secrets) => Result | Promise<Result>,
    options?: ReadOptions,
  ): Promise<Result>;
  /** Without values. */
  list(folder: string, options?: Pick<ReadOptions, "recursive">): Promise<readonly SecretMetadata[]>;
  /** Creates a secret, or adds a version to it. Bytes are written as type `binary`. */
  write(path: string, value: string | Uint8Array, options?: WriteOptions): Promise<SecretMetadata>;
  /** Forgets values, and revokes a token that was exchanged for this vault. */
  close(): Promise<void>;
};

type Request = Pick<HttpRequest, "method" | "body"> & {
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
};

type Context = {
  readonly settings: Settings;
  readonly send: (request: Request) => Promise<HttpResponse>;
  readonly oneValue: ValueCache<SecretValue>;
  readonly manyValues: ValueCache<readonly NamedValue[]>;
};

const maxPages = 100;

/** Options that are left out come from the environment. */
export function openVault(options: VaultOptions = {}): Vault {
  const settings = readSettings(options);
  const { credential } = settings;
  const tokens =
    "token" in credential ? fixedToken(credential.token) : exchangedToken(credential.subjectToken, settings);
  const send = (request: Request) => sendAuthorized(request, tokens, settings);
  const context: Context = {
    settings,
    send,
    oneValue: createValueCache(settings),
    manyValues: createValueCache(settings),
  };
  return {
    get: (path, { raw = false } = {}) => getOne(path, raw, context),
    async getMany(folder, request = {}) {
      const key = JSON.stringify([folder, request]);
      const load = (tag: string | undefined) => readMany(folder, { ...request, tag }, context);
      return toSecrets(folder, await context.manyValues.read(key, load));
    },
    async withSecrets(folder, use, request = {}) {
      const loaded = await readMany(folder, request, context);
      const secrets = toSecrets(folder, loaded?.value ?? []);
      try {
        return await use(secrets);
      } finally {
        secrets.clear();
      }
    },
    list: (folder, { recursive = false } = {}) => listSecrets(folder, recursive, context),
    async write(path, value, request = {}) {
      const secret = await writeSecret(path, { ...request, value }, context);
      context.oneValue.clear();
      context.manyValues.clear();
      return secret;
    },
    async close() {
      context.oneValue.clear();
      context.manyValues.clear();
      if (tokens.owned() !== undefined) await send({ method: "DELETE", path: "/api/secrets/tokens/self" });
    },
  };
}

/** Repeats a request with another token once, because a token of a trust rule ends when the rule changes. */
async function sendAuthorized(
  { path, query = {}, headers = {}, ...request }: Request,
  tokens: TokenSource,
  { server, ...limits }: Settings,
): Promise<HttpResponse> {
  const url = new URL(path, server);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, value);
  const send = (token: string) => {
    const authorized = { ...headers, authorization: `Bearer ${token}` };
    // Writes have an idempotency key, and a token is revoked once.
    return sendRequest({ ...request, url, headers: authorized, isRepeatable: true }, limits);
  };
  const token = await tokens.read();
  try {
    return await send(token);
  } catch (error) {
    const isRefused = error instanceof AccessDeniedError && error.status === 401;
    if (!isRefused || request.method === "DELETE" || !tokens.discard(token)) throw error;
    return await send(await tokens.read());
  }
}

async function getOne(path: string, raw: boolean, { settings, send, oneValue }: Context): Promise<Secret> {
  const address = `/api/secrets/vaults/${settings.vault}/values/by-path${encodePath(path)}`;
  const value = await oneValue.read(JSON.stringify([path, raw]), async () => {
    const { body, tag } = await send({ path: address, query: raw ? {} : { expand: "references" } });
    if (!isValue(body)) throw unexpected("it returned no value");
    return { value: body, tag };
  });
  return new Secret(value);
}

async function readMany(
  folder: string,
  { names, recursive, inherit, raw, tag }: ReadOptions & { readonly tag?: string | undefined },
  { settings, send }: Context,
): Promise<{ readonly value: readonly NamedValue[]; readonly tag: string | undefined } | undefined> {
  const response = await send({
    path: `/api/secrets/vaults/${settings.vault}/values`,
    query: {
      path: folder,
      names: names?.join(","),
      recursive: recursive === true ? "true" : undefined,
      inherit: inherit === true ? "true" : undefined,
      expand: raw === true ? undefined : "references",
    },
    headers: tag === undefined ? {} : { "if-none-match": tag },
  });
  if (response.status === 304) return undefined;
  if (!isSecretValues(response.body)) throw unexpected("it returned no values");
  const { items } = response.body;
  // Throws for a name that is missing.
  for (const name of names ?? [])
    if (!items.some((item) => item.name === name)) toSecrets(folder, items).get(name);
  return { value: items, tag: response.tag };
}

function toSecrets(folder: string, items: readonly NamedValue[]): Secrets {
  const prefix = folder === "/" ? "/" : `${folder.replace(/\/$/u, "")}/`;
  const nameOf = (path: string) => (path.startsWith(prefix) ? path.slice(prefix.length) : path);
  return new Secrets(folder, new Map(items.map((item) => [nameOf(item.path), new Secret(item)])));
}

async function listSecrets(
  folder: string,
  recursive: boolean,
  { settings, send }: Context,
): Promise<readonly SecretMetadata[]> {
  const secrets: SecretMetadata[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const { body } = await send({
      path: `/api/secrets/vaults/${settings.vault}/secrets`,
      query: { path: folder, recursive: recursive ? "true" : undefined, limit: "200", cursor },
    });
    if (!isSecretPage(body)) throw unexpected("it returned no list");
    secrets.push(...body.items);
    cursor = body.next_cursor;
    if (cursor === undefined) return secrets;
  }
  throw unexpected(`its list has more than ${maxPages} pages`);
}

async function writeSecret(
  path: string,
  { value, ifRevision, create, ...fields }: WriteOptions & { readonly value: string | Uint8Array },
  { settings, send }: Context,
): Promise<SecretMetadata> {
  const content =
    typeof value === "string"
      ? { value }
      : ({ value: encodeBase64(value), encoding: "base64", type: "binary" } as const);
  const { body } = await send({
    method: "PUT",
    path: `/api/secrets/vaults/${settings.vault}/secrets/by-path${encodePath(path)}`,
    headers: {
      "content-type": "application/json",
      "idempotency-key": crypto.randomUUID(),
      ...(ifRevision === undefined ? {} : { "if-match": `"${ifRevision}"` }),
      ...(create === true ? { "if-none-match": "*" } : {}),
    },
    body: JSON.stringify({ ...content, ...fields } satisfies NewSecret),
  });
  if (!isSecret(body)) throw unexpected("it returned no secret");
  return body;
}

function encodePath(path: string): string {
  // A URL would resolve such segments, and address another secret.
  const segments = path.split("/");
  if (!path.startsWith("/") || segments.some((each) => [".", ".."].includes(each)))
    throw new ConfigurationError(`Invalid path ${JSON.stringify(path)}: use one such as /prod/DATABASE_URL`);
  return segments.map(encodeURIComponent).join("/");
}

function encodeBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

function isValue(body: unknown): body is SecretValue {
  const isText = (name: string) => typeof fieldOf(body, name) === "string";
  return ["path", "type", "value", "encoding"].every(isText) && typeof fieldOf(body, "version") === "number";
}

function isSecretValues(body: unknown): body is SecretValues {
  const items = fieldOf(body, "items");
  return Array.isArray(items) && items.every((item) => isValue(item) && "name" in item);
}

function isSecret(body: unknown): body is SecretMetadata {
  return typeof fieldOf(body, "path") === "string" && typeof fieldOf(body, "revision") === "number";
}

function isSecretPage(body: unknown): body is SecretPage {
  const items = fieldOf(body, "items");
  return Array.isArray(items) && items.every(isSecret);
}
