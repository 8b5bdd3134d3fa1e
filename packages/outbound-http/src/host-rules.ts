import { lookup as lookupName } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { judgeAddress } from "./judge-address.ts";
import { OutboundProblem } from "./outbound.ts";

type ResolvedAddress = { readonly address: string; readonly family: number };

export type HostRules = {
  /** Throws unless the scheme, the form and, for an address, the place of this URL are allowed. */
  check(url: URL, consent: Consent): void;
  /** Gives a connection the addresses of a name, and none when one of them is forbidden. */
  lookupFor(url: URL, consent: Consent): LookupFunction;
  isListed(url: URL): boolean;
};

type Consent = {
  readonly isPlainMeant: boolean;
  /** A redirect by a host that is not listed does not reach one that is: nobody here asked for that. */
  readonly mayBePrivate: boolean;
};

export function createHostRules(privateHosts: readonly string[]): HostRules {
  const listed = privateHosts.map(readListed);
  const isListed = (url: URL): boolean =>
    listed.some(({ host, port }) => host === url.hostname && (port === undefined || port === portOf(url)));
  const mayBePrivate = (url: URL, consent: Consent): boolean => consent.mayBePrivate && isListed(url);
  return {
    isListed,
    check(url, consent) {
      if (!["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "") {
        throw new OutboundProblem(url.hostname, "scheme-forbidden");
      }
      // Also for a name, because a connection that was kept asks no resolver.
      if (isListed(url) && !consent.mayBePrivate) throw new OutboundProblem(url.host, "address-forbidden");
      const literal = url.hostname.replaceAll(/^\[|\]$/gu, "");
      if (isIP(literal) !== 0) judge(url, [{ address: literal }], mayBePrivate(url, consent));
      if (url.protocol === "http:" && !(consent.isPlainMeant && mayBePrivate(url, consent))) {
        throw new OutboundProblem(url.host, "plain-forbidden");
      }
    },
    lookupFor(url, consent) {
      return (name, options, callback) => {
        const judged = async (): Promise<readonly ResolvedAddress[]> => {
          const addresses = await resolve(name);
          judge(url, addresses, mayBePrivate(url, consent));
          return addresses;
        };
        void handOver(judged(), options.all === true, callback);
      };
    },
  };
}

function judge(url: URL, addresses: readonly { readonly address: string }[], mayBePrivate: boolean): void {
  const isForbidden = addresses.some(({ address }) => {
    const kind = judgeAddress(address);
    return kind === "never" || (kind === "private" && !mayBePrivate);
  });
  if (isForbidden) throw new OutboundProblem(url.host, "address-forbidden");
  if (addresses.length === 0) throw new OutboundProblem(url.host, "no-address");
}

/** The connection goes to the addresses handed over here, and asks no resolver again. */
async function handOver(
  judged: Promise<readonly ResolvedAddress[]>,
  wantsAll: boolean,
  callback: Parameters<LookupFunction>[2],
): Promise<void> {
  try {
    const addresses = await judged;
    const [first] = addresses;
    if (wantsAll || first === undefined) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  } catch (problem) {
    callback(asError(problem), [], 0);
  }
}

/** `registry.lan:5000` or `registry.lan`, spelled as `URL` spells it; what is no host matches none. */
function readListed(entry: string): { readonly host: string | undefined; readonly port: number | undefined } {
  const [, name = "", port] = /^(.*?)(?::(\d{1,5}))?$/u.exec(entry) ?? [];
  const host = URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : undefined;
  return { host, port: port === undefined ? undefined : Number(port) };
}

function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

/** Every address of a name, as the system finds them; rejects when it has none. */
function resolve(name: string): Promise<readonly ResolvedAddress[]> {
  return new Promise((settle, fail) => {
    lookupName(name, { all: true, order: "verbatim" }, (problem, addresses) => {
      if (problem === null) settle(addresses);
      else fail(problem);
    });
  });
}

function asError(problem: unknown): Error {
  return problem instanceof Error ? problem : new Error("Cannot resolve a name", { cause: problem });
}
