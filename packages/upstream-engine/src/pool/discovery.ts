import { lookup } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { unlessAborted } from "../wire/unless-aborted.ts";

/** Where the engines of a pool are, again and again: each list replaces the one before. */
export type Discovery = {
  watch(signal: AbortSignal): AsyncGenerator<readonly URL[], void>;
};

/** By which an engine is known: no two engines have the same, and the scheme is told by the port. */
export function labelOf({ protocol, hostname, port, pathname }: URL): string {
  const usualPort = protocol === "https:" ? "443" : "80";
  return `${hostname}:${port || usualPort}${pathname.replace(/\/$/u, "")}`;
}

/** Who is asked for addresses every few seconds. A list that cannot be had changes nothing. */
export type AddressSource = (signal: AbortSignal) => Promise<readonly URL[]>;

const askAgainSeconds = 3;
const mostAddresses = 1024;

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
        if (addresses !== undefined) yield addresses.slice(0, mostAddresses);
        await sleep(askAgainSeconds * 1000, undefined, { signal, ref: false }).catch(() => undefined);
      }
    },
  };
}

type LookUp = (
  name: string,
  options: { readonly all: true },
) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/**
 * Every address that the name of an http address stands for. A name with addresses of both families has each engine
 * twice, so then only those of IPv4 count.
 */
export function resolveName(address: URL, lookUp: LookUp = lookup): AddressSource {
  return async (signal) => {
    // The system's resolver may be silent for long.
    const found = await unlessAborted(lookUp(address.hostname, { all: true }), signal);
    const isDual = found.some(({ family }) => family === 4);
    const taken = isDual ? found.filter(({ family }) => family === 4) : found;
    return taken.map(({ address: number, family }) => {
      const each = new URL(address);
      each.hostname = family === 6 ? `[${number}]` : number;
      return each;
    });
  };
}
