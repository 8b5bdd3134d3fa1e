import { haveSameOperator } from "./host-aliases.ts";

const maxRealmLength = 2048;

/**
 * A registry may refer to a token server on its own host or on another host of the same operator, never from https to
 * http, and never with credentials in the URL. Undefined for any other realm.
 */
export function parseAllowedRealm(realm: string, registry: URL): URL | undefined {
  if (realm.length > maxRealmLength) return undefined;
  const url = URL.parse(realm);
  if (url === null || url.username !== "" || url.password !== "") return undefined;
  const isSecure = url.protocol === "https:" || (url.protocol === "http:" && registry.protocol === "http:");
  const isOwnHost = url.hostname === registry.hostname || haveSameOperator(url.hostname, registry.hostname);
  return isSecure && isOwnHost ? url : undefined;
}
