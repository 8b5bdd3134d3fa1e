import { areOfOneOperator } from "./known-hosts.ts";

const longestRealm = 2048;

/**
 * Where a registry may send us for a token: its own host, or one that we know to be of the same operator; never
 * from https to http, and never with a name and a password in the address. Undefined when it may not.
 */
export function readRealm(realm: string, registry: URL): URL | undefined {
  if (realm.length > longestRealm) return undefined;
  const url = URL.parse(realm);
  if (url === null || url.username !== "" || url.password !== "") return undefined;
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && registry.protocol === "http:");
  const isNear = url.hostname === registry.hostname || areOfOneOperator(url.hostname, registry.hostname);
  return isSafe && isNear ? url : undefined;
}
