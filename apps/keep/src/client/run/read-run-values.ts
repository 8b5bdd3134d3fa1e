/**
 * @module
 * What `keep run` does: reads values in one request, or from an encrypted copy while the server is away, and starts a
 * program that has them in its environment or in files, and restarts it when they change. Guarantees that a decision of
 * the server beats the copy, and that the files are gone when the program has ended.
 * Imported by `commands/run.ts`; `commands/logout.ts` deletes the copies.
 */
import type { SecretValues } from "@hearth-and-keep/vault-contract";
import { clientFailure, isClientFailure } from "../client-failure.ts";
import type { Keyring } from "../keyring.ts";
import type { VaultContext } from "../open-context.ts";
import { requestValues } from "../read-values.ts";
import { formatAge } from "./parse-age.ts";
import type { ValueCache } from "./value-cache.ts";

export type RunValuesOptions = {
  /** Only these names. */
  readonly names: readonly string[] | undefined;
  /** Whether an encrypted copy is kept on this machine, and used when the server cannot be reached. */
  readonly isOffline: boolean;
  /** Of that copy. */
  readonly maxAgeMinutes: number;
  readonly openKeyring: () => Promise<Keyring | undefined>;
  readonly signal?: AbortSignal | undefined;
};

export type RunValues = {
  readonly values: SecretValues;
  /** Of these values; undefined if the server sent none. */
  readonly tag: string | undefined;
  readonly isFromCache: boolean;
};

/** The values in one request; references are resolved by the server. */
export async function readRunValues(options: RunValuesOptions, context: VaultContext): Promise<RunValues> {
  if (!options.isOffline) return requestOnce(options.names, context);
  return readWithCache(options, await openCache(options, context), context);
}

/** Undefined when they are still those of the entity tag. */
export async function readChangedValues(
  knownTag: string | undefined,
  options: RunValuesOptions,
  context: VaultContext,
): Promise<RunValues | undefined> {
  const cache = options.isOffline ? await openCache(options, context) : undefined;
  try {
    const { names, signal } = options;
    const request = { names, expand: "references", knownTag, signal } as const;
    const response = await requestValues(request, context);
    if (response.isUnchanged) return undefined;
    const { body: values, tag } = response;
    if (tag !== undefined) await cache?.write({ values, tag });
    return { values, tag, isFromCache: false };
  } catch (error) {
    if (isRefusal(error)) await cache?.delete();
    throw error;
  }
}

/** Loaded only here, because encryption takes as long to load as all else of a start. */
async function openCache(
  { names, maxAgeMinutes, openKeyring }: RunValuesOptions,
  { client, vaultId, folder, token, isInheriting }: VaultContext,
): Promise<ValueCache> {
  const { openValueCache } = await import("./value-cache.ts");
  const query = JSON.stringify([names ?? null, isInheriting]);
  const scope = { server: client.server, vaultId, folder, query, token };
  return openValueCache(scope, { maxAgeMinutes, openKeyring });
}

async function requestOnce(names: readonly string[] | undefined, context: VaultContext): Promise<RunValues> {
  const response = await requestValues({ names, expand: "references" }, context);
  // Without a tag in the request, the server cannot say that nothing has changed.
  if (response.isUnchanged) throw clientFailure({ kind: "unexpected-server", server: context.client.server });
  return { values: response.body, tag: response.tag, isFromCache: false };
}

async function readWithCache(
  { names, maxAgeMinutes }: RunValuesOptions,
  cache: ValueCache,
  context: VaultContext,
): Promise<RunValues> {
  const cached = await cache.read();
  try {
    const request = { names, expand: "references", knownTag: cached?.tag } as const;
    const response = await requestValues(request, context);
    const current = response.isUnchanged ? cached : { values: response.body, tag: response.tag };
    if (current === undefined)
      throw clientFailure({ kind: "unexpected-server", server: context.client.server });
    const { values, tag } = current;
    if (tag !== undefined) await cache.write({ values, tag });
    return { values, tag, isFromCache: false };
  } catch (error) {
    // What the server decides beats the copy: the token may have been revoked, or the vault deleted.
    if (isRefusal(error)) await cache.delete();
    if (!isAway(error)) throw error;
    if (cached === undefined) {
      const { server } = context.client;
      throw clientFailure(
        { kind: "cache-missing", server, maxAge: formatAge(maxAgeMinutes) },
        { cause: error },
      );
    }
    return { ...cached, isFromCache: true };
  }
}

function isRefusal(error: unknown): boolean {
  return isClientFailure(error, "problem") && [401, 403, 404].includes(error.failure.problem.status);
}

/** No connection, or a server that is being restarted. */
function isAway(error: unknown): boolean {
  if (isClientFailure(error, "server-unreachable")) return true;
  return isClientFailure(error, "problem") && error.failure.problem.status === 503;
}
