/**
 * @module
 * Access control by API key, Host and Origin. One function checks the head of every request before its body is read,
 * for all protocols alike; it never looks at the path, but at the role that the matched route requires.
 * Imported by `server.ts` and by `commands/serve.ts`, which reads the settings.
 */
import type { KeyRole } from "@hearth-and-keep/hearth-contract";
import type { RequestHead } from "@hearth-and-keep/http-service";
import { requestFailure } from "../failures.ts";
import { type AllowedSites, loopbackSites } from "./allowed-sites.ts";
import { readCredentials } from "./credentials.ts";
import { type AccessKey, findKey, hashKey } from "./keys.ts";
import { rejectAmbientCredentials } from "./reject-ambient-credentials.ts";
import { rejectCrossSite } from "./reject-cross-site.ts";

export type Access = {
  /** Without keys anyone may call, and credentials that clients send anyway are ignored. */
  readonly keys: readonly AccessKey[];
  /** Lets keys share cached prompts. Response times then reveal to one key what another has sent. */
  readonly isCacheShared?: boolean;
  /** Keys of a database. With one, a key is always required, also when all of its keys are revoked. */
  readonly storedKeys?: FindStoredKey;
  /** Loopback only by default. */
  readonly sites?: AllowedSites;
};

/** Finds a key that is neither revoked nor expired by the SHA-256 hash of the credential. */
export type FindStoredKey = (sha256: Uint8Array) => StoredAccessKey | undefined;

type StoredAccessKey = Pick<AccessKey, "name" | "role"> & { readonly id: string; readonly priority: number };

/** The API key that sent a request; named "none" on a server without keys. */
export type Actor = {
  readonly keyName: string;
  /** On a server without keys, everyone is an admin. */
  readonly role: KeyRole;
  /** Prompts cached for one partition are never used for another. */
  readonly cachePartition: string;
  /** Of a key in a database. */
  readonly keyId?: string;
  /** Waiting requests of keys with a higher one are served first; 0 if absent. */
  readonly priority?: number;
};

/** Throws a RequestFailure unless the request may proceed. Without `requiredRole`, every key may. */
export function authenticate(head: RequestHead, access: Access, requiredRole?: "admin"): Actor {
  rejectCrossSite(head, access.sites ?? loopbackSites);
  if (requiresKey(access)) rejectAmbientCredentials(head);
  const actor = identify(head, access);
  head.addLogFields({ keyName: actor.keyName });
  if (requiredRole === "admin") requireAdmin(actor);
  return actor;
}

/** Whether requests without an API key are rejected. */
export function requiresKey({ keys, storedKeys }: Access): boolean {
  return keys.length > 0 || storedKeys !== undefined;
}

/** For what only an admin may do on a route that is open to all keys. */
export function requireAdmin({ role }: Actor): void {
  if (role !== "admin") throw requestFailure({ kind: "admin-key-required" });
}

/** Undefined for other roles: a field that affects everyone is ignored rather than rejected, as many clients send it. */
export function onlyFromAdmin<Value>({ role }: Actor, value: Value): Value | undefined {
  return role === "admin" ? value : undefined;
}

function identify({ headers }: RequestHead, access: Access): Actor {
  const { keys, isCacheShared = false, storedKeys } = access;
  if (!requiresKey(access)) return { keyName: "none", role: "admin", cachePartition: "" };
  const [credential, ...others] = new Set(readCredentials(headers));
  if (credential === undefined) throw requestFailure({ kind: "key-missing" });
  if (others.length > 0) throw requestFailure({ kind: "keys-conflict" });
  const key = findKey(keys, credential);
  const partitionOf = (name: string): string => (isCacheShared ? "" : name);
  if (key !== undefined) return { keyName: key.name, role: key.role, cachePartition: partitionOf(key.name) };
  const stored = storedKeys?.(hashKey(credential));
  // What is kept for a configured key is kept under its name, which a stored key must not take over.
  if (stored === undefined || keys.some(({ name }) => name === stored.name)) {
    throw requestFailure({ kind: "key-invalid" });
  }
  const { id: keyId, name, role, priority } = stored;
  return { keyName: name, role, cachePartition: partitionOf(name), keyId, priority };
}
