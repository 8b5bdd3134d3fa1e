import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import { type Outbound, OutboundError } from "@hearth-and-keep/outbound-http";
import { LRUCache } from "lru-cache";
import { maxEntries } from "../cache-options.ts";
import { isObject } from "../is-object.ts";
import { type PublicKey, readPublicKeys } from "./public-keys.ts";

/** Public keys of issuers, from their discovery documents. */
export type IssuerKeys = {
  /** The keys with this id: none if the issuer does not publish it, undefined if it cannot be reached. */
  find(issuer: string, keyId: string): Promise<readonly PublicKey[] | undefined>;
};

const maxIssuers = 1000;
const freshMilliseconds = 10 * 60_000;
/** Keys are used for this long while the issuer does not respond. */
const staleMilliseconds = 60 * 60_000;
/** An unknown key id, or an issuer that fails, causes at most one request in this time. */
const retryMilliseconds = 30_000;
const timeoutSeconds = 10;
const maxBytes = 256 * 1024;
/** Kubernetes offers its keys as the second type only, and refuses requests that do not accept it. */
const mediaTypes = "application/json, application/jwk-set+json";

type IssuerState = {
  keys: readonly PublicKey[];
  /** In milliseconds of a clock that never jumps. */
  fetchedAt: number;
  triedAt: number;
  pending: Promise<void> | undefined;
};

export function createIssuerKeys(outbound: Pick<Outbound, "request">): IssuerKeys {
  const states = new LRUCache<string, IssuerState>({ ...maxEntries(maxIssuers) });
  const never = Number.NEGATIVE_INFINITY;
  const refresh = async (issuer: string, state: IssuerState): Promise<void> => {
    state.triedAt = performance.now();
    const keys = await fetchKeys(issuer, outbound);
    if (keys === undefined) return;
    state.keys = keys;
    state.fetchedAt = performance.now();
  };
  return {
    async find(issuer, keyId) {
      const state = states.get(issuer) ?? { keys: [], fetchedAt: never, triedAt: never, pending: undefined };
      states.set(issuer, state);
      const matching = () => state.keys.filter(({ kid }) => kid === keyId);
      const age = () => performance.now() - state.fetchedAt;
      const isMissing = matching().length === 0 || age() > freshMilliseconds;
      if (isMissing && performance.now() - state.triedAt >= retryMilliseconds) {
        state.pending ??= refresh(issuer, state).finally(() => {
          state.pending = undefined;
        });
      }
      if (isMissing) await state.pending;
      return age() > staleMilliseconds ? undefined : matching();
    },
  };
}

/** Undefined when the issuer cannot be reached or publishes no usable document. */
async function fetchKeys(
  issuer: string,
  outbound: Pick<Outbound, "request">,
): Promise<readonly PublicKey[] | undefined> {
  const base = new URL(issuer);
  const discovery = await fetchJson(
    new URL(`${issuer.replace(/\/$/u, "")}/.well-known/openid-configuration`),
    base,
    outbound,
  );
  if (!isObject(discovery) || discovery["issuer"] !== issuer) return undefined;
  const address = discovery["jwks_uri"];
  if (typeof address !== "string" || !address.startsWith("https://") || !URL.canParse(address))
    return undefined;
  const document = await fetchJson(new URL(address), base, outbound);
  return isObject(document) ? readPublicKeys(document["keys"]) : undefined;
}

async function fetchJson(url: URL, referrer: URL, outbound: Pick<Outbound, "request">): Promise<unknown> {
  const signal = AbortSignal.timeout(timeoutSeconds * 1000);
  try {
    await using response = await outbound.request(url, {
      headers: { accept: mediaTypes, "user-agent": "keep" },
      referrer,
      maxRedirects: 0,
      idleSeconds: timeoutSeconds,
      signal,
    });
    if (response.status !== 200) return undefined;
    return parseBoundedJson((await response.readAll(maxBytes)).toString("utf8"));
  } catch (error) {
    if (error instanceof OutboundError || signal.aborted) return undefined;
    throw error;
  }
}
