import { lookup } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { unlessAborted } from "../wire/unless-aborted.ts";

/** Yields the addresses of a pool's engines repeatedly; each list replaces the previous one. */
export type Discovery = {
  watch(signal: AbortSignal): AsyncGenerator<readonly URL[], void>;
};

/** Identifies an engine uniquely; the port implies the scheme. */
export function labelOf({ protocol, hostname, port, pathname }: URL): string {
  const defaultPort = protocol === "https:" ? "443" : "80";
  return `${hostname}:${port || defaultPort}${pathname.replace(/\/$/u, "")}`;
}

/** Polled for addresses every few seconds. If it fails, the previous list stays in effect. */
export type AddressSource = (signal: AbortSignal) => Promise<readonly URL[]>;

const refreshSeconds = 3;
const maxAddresses = 1024;

export function listAddresses(addresses: readonly URL[]): Discovery {
  return {
    async *watch() {
      yield addresses;
    },
  };
}

export function refreshMembers(source: AddressSource): Discovery {
  return {
    async *watch(signal) {
      while (!signal.aborted) {
        const addresses = await source(signal).catch(() => undefined);
        if (addresses !== undefined) yield addresses.slice(0, maxAddresses);
        await sleep(refreshSeconds * 1000, undefined, { signal, ref: false }).catch(() => undefined);
      }
    },
  };
}

type Lookup = (
  name: string,
  options: { readonly all: true },
) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/**
 * Resolves the host name of a URL to all its addresses. A dual-stack name lists each engine twice, so only the IPv4
 * addresses are used then.
 */
export function resolveName(address: URL, resolve: Lookup = lookup): AddressSource {
  return async (signal) => {
    // The system resolver may take a long time.
    const found = await unlessAborted(resolve(address.hostname, { all: true }), signal);
    const hasIpv4 = found.some(({ family }) => family === 4);
    const usable = hasIpv4 ? found.filter(({ family }) => family === 4) : found;
    return usable.map(({ address: ip, family }) => {
      const each = new URL(address);
      each.hostname = family === 6 ? `[${ip}]` : ip;
      return each;
    });
  };
}
