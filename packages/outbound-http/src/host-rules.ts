import { lookup as lookupName } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { classifyAddress } from "./classify-address.ts";
import { OutboundError } from "./outbound.ts";

type ResolvedAddress = { readonly address: string; readonly family: number };

export type HostRules = {
  /** Throws unless the scheme and, for a literal IP address, the address are allowed. */
  check(url: URL, permissions: Permissions): void;
  /** DNS lookup for a connection; fails when any address of the name is forbidden. */
  lookupFor(url: URL, permissions: Permissions): LookupFunction;
  isListed(url: URL): boolean;
};

type Permissions = {
  readonly allowPlainHttp: boolean;
  /** False along a redirect from a host that is not listed, so that it cannot lead us to one that is. */
  readonly allowPrivate: boolean;
};

export function createHostRules(privateHosts: readonly string[]): HostRules {
  const listed = privateHosts.map(readListed);
  const isListed = (url: URL): boolean =>
    listed.some(({ host, port }) => host === url.hostname && (port === undefined || port === portOf(url)));
  const mayBePrivate = (url: URL, permissions: Permissions): boolean =>
    permissions.allowPrivate && isListed(url);
  return {
    isListed,
    check(url, permissions) {
      if (!["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "") {
        throw new OutboundError(url.hostname, "scheme-forbidden");
      }
      // Also for names, because a kept-alive connection makes no lookup.
      if (isListed(url) && !permissions.allowPrivate) throw new OutboundError(url.host, "address-forbidden");
      const literal = url.hostname.replaceAll(/^\[|\]$/gu, "");
      if (isIP(literal) !== 0) checkAddresses(url, [{ address: literal }], mayBePrivate(url, permissions));
      if (url.protocol === "http:" && !(permissions.allowPlainHttp && mayBePrivate(url, permissions))) {
        throw new OutboundError(url.host, "plain-forbidden");
      }
    },
    lookupFor(url, permissions) {
      return (name, options, callback) => {
        const resolveChecked = async (): Promise<readonly ResolvedAddress[]> => {
          const addresses = await resolveName(name);
          checkAddresses(url, addresses, mayBePrivate(url, permissions));
          return addresses;
        };
        void passAddresses(resolveChecked(), options.all === true, callback);
      };
    },
  };
}

function checkAddresses(
  url: URL,
  addresses: readonly { readonly address: string }[],
  mayBePrivate: boolean,
): void {
  const isForbidden = addresses.some(({ address }) => {
    const kind = classifyAddress(address);
    return kind === "never" || (kind === "private" && !mayBePrivate);
  });
  if (isForbidden) throw new OutboundError(url.host, "address-forbidden");
  if (addresses.length === 0) throw new OutboundError(url.host, "no-address");
}

/** The connection uses exactly these addresses; there is no second lookup that could differ. */
async function passAddresses(
  checked: Promise<readonly ResolvedAddress[]>,
  wantsAll: boolean,
  callback: Parameters<LookupFunction>[2],
): Promise<void> {
  try {
    const addresses = await checked;
    const [first] = addresses;
    if (wantsAll || first === undefined) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  } catch (error) {
    callback(asError(error), [], 0);
  }
}

/** `registry.lan:5000` or `registry.lan`, normalised like `URL`; an invalid entry matches no host. */
function readListed(entry: string): { readonly host: string | undefined; readonly port: number | undefined } {
  const [, name = "", port] = /^(.*?)(?::(\d{1,5}))?$/u.exec(entry) ?? [];
  const host = URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : undefined;
  return { host, port: port === undefined ? undefined : Number(port) };
}

function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

/** All addresses of a name, in the system's order. */
function resolveName(name: string): Promise<readonly ResolvedAddress[]> {
  return new Promise((resolve, reject) => {
    lookupName(name, { all: true, order: "verbatim" }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error("Cannot resolve a name", { cause: error });
}
