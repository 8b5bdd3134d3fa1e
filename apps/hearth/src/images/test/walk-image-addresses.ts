import { readFile } from "node:fs/promises";
import { createOutbound } from "@hearth-and-keep/outbound-http";
import {
  type AddressCase,
  type AddressFile,
  type FakeInternet,
  startFakeInternet,
} from "../../models/registry/test/fake-internet.ts";
import { createImageFetcher } from "../fetch-image.ts";

/** The result of fetching one URL. */
export type WalkedImage = {
  readonly why: string;
  /** The address that sent the final response; empty if there was none. */
  readonly at: string;
  /** The expected address of a valid URL. */
  readonly reaches: string;
  readonly reason: string;
  /** Unusual spelling of a valid host. */
  readonly mayRespond: boolean;
  /** Addresses that were connected to, except those that redirect. */
  readonly connections: readonly string[];
};

export type WalkedImages = {
  /** Only the default host is listed. */
  readonly unlisted: readonly WalkedImage[];
  /** Every host that the URLs name is listed, so that only the address can be the reason. */
  readonly listed: readonly WalkedImage[];
  readonly good: readonly WalkedImage[];
  /** The valid URLs again, with only another host listed. */
  readonly unlistedGood: readonly WalkedImage[];
};

const defaultHost = "registry.test.example";
const defaultStart = `https://${defaultHost}`;
const maxBytes = 4096;

/** Fetches every URL of the reviewed file as an image, in a fake internet. */
async function walkImageAddresses(): Promise<void> {
  const path = new URL("../../models/registry/fixtures/outbound-addresses.json", import.meta.url);
  // Also used by the registry tests.
  const file = JSON.parse(await readFile(path, "utf8")) as AddressFile;
  await using internet = await startFakeInternet(file);
  const hostile = file.hostile.filter(isAddress);
  const good = file.good.filter((current) => isAddress(current) && isPublic(current));
  const result: WalkedImages = {
    unlisted: await walkAll(hostile, internet, () => [defaultHost]),
    listed: await walkAll(hostile, internet, hostsOf),
    good: await walkAll(good, internet, hostsOf),
    unlistedGood: await walkAll(good, internet, () => ["elsewhere.test.example"]),
  };
  process.stdout.write(JSON.stringify(result));
}

function isAddress({ url, redirects, after }: AddressCase): boolean {
  return (url !== undefined || redirects !== undefined) && after === undefined;
}

/** Unlike registries, image hosts may not be private or use http, and allow at most three redirects. */
function isPublic({ insecure = false, url = defaultStart, redirects = [] }: AddressCase): boolean {
  return !insecure && !/\.lan\./iu.test(url) && redirects.length <= 3;
}

async function walkAll(
  cases: readonly AddressCase[],
  internet: FakeInternet,
  hosts: (current: AddressCase) => readonly string[],
): Promise<WalkedImage[]> {
  const walked: WalkedImage[] = [];
  for (const current of cases) {
    internet.configure(current);
    walked.push(await walk(current, internet, hosts(current)));
  }
  return walked;
}

async function walk(
  current: AddressCase,
  internet: FakeInternet,
  hosts: readonly string[],
): Promise<WalkedImage> {
  await using outbound = createOutbound({ privateHosts: [] });
  const fetchImage = createImageFetcher({ hosts, outbound });
  let at = "";
  let reason = "";
  for (let attempt = 0; reason === "" && attempt < (current.attempts ?? 1); attempt += 1) {
    const url = current.url ?? `${current.start ?? defaultStart}/begin`;
    const fetched = await fetchImage(url, { maxBytes, signal: AbortSignal.timeout(20_000) });
    reason = "reason" in fetched ? fetched.reason : "";
    // The fake internet responds with the address that was connected to.
    at = "reason" in fetched ? "" : (JSON.parse(fetched.toString()) as { readonly at: string }).at;
    // A new connection resolves the name again.
    if (current.attempts !== undefined) await outbound[Symbol.asyncDispose]();
  }
  const harmless = new Set([...(current.mayReach ?? []), "203.0.114.10:443", "203.0.114.20:443"]);
  const connections = internet.takeConnections().filter((address) => !harmless.has(address));
  const { why, reaches = "", mayRespond = false } = current;
  return { why, at, reaches, reason, mayRespond, connections };
}

function hostsOf({ url, redirects = [], start = defaultStart }: AddressCase): readonly string[] {
  return [url ?? start, ...redirects, defaultStart]
    .map((address) => URL.parse(address, defaultStart)?.host ?? "")
    .filter((host) => host !== "");
}

await walkImageAddresses();
