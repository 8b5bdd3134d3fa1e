import { readFile } from "node:fs/promises";
import { createOutbound } from "@hearth-and-keep/outbound-http";
import {
  type AddressCase,
  type AddressFile,
  type ForgedWorld,
  startForgedWorld,
} from "../../models/registry/test/forged-world.ts";
import { createImageFetcher } from "../fetch-image.ts";

/** What became of one address. */
export type WalkedImage = {
  readonly why: string;
  /** Who answered in the end; empty when nobody did. */
  readonly at: string;
  /** Where it should have ended, of a good one. */
  readonly reaches: string;
  readonly problem: string;
  /** Oddly spelled, and meaning a good host all the same. */
  readonly mayAnswer: boolean;
  /** Whom it made us connect to, without those that sent us on. */
  readonly connections: readonly string[];
};

export type WalkedImages = {
  /** With the usual host on the list and no other. */
  readonly unlisted: readonly WalkedImage[];
  /** With every host on the list that they name, so that nothing but the address can be the reason. */
  readonly listed: readonly WalkedImage[];
  readonly good: readonly WalkedImage[];
  /** The good ones again, with another host on the list. */
  readonly strangers: readonly WalkedImage[];
};

const usualHost = "registry.test.example";
const usualStart = `https://${usualHost}`;
const mostBytes = 4096;

/** Fetches every address of the reviewed file as if it were an image, in a world of its own. */
async function walkImageAddresses(): Promise<void> {
  const place = new URL("../../models/registry/fixtures/outbound-addresses.json", import.meta.url);
  // Reviewed, and read by the tests of the registry too.
  const file = JSON.parse(await readFile(place, "utf8")) as AddressFile;
  await using world = await startForgedWorld(file);
  const hostile = file.hostile.filter(isAddress);
  const good = file.good.filter((current) => isAddress(current) && isPublic(current));
  const result: WalkedImages = {
    unlisted: await walkAll(hostile, world, () => [usualHost]),
    listed: await walkAll(hostile, world, hostsOf),
    good: await walkAll(good, world, hostsOf),
    strangers: await walkAll(good, world, () => ["elsewhere.test.example"]),
  };
  process.stdout.write(JSON.stringify(result));
}

function isAddress({ url, redirects, after }: AddressCase): boolean {
  return (url !== undefined || redirects !== undefined) && after === undefined;
}

/** Registries may be private when they are listed, and be asked by http; images are not. Nor do they go five steps. */
function isPublic({ insecure = false, url = usualStart, redirects = [] }: AddressCase): boolean {
  return !insecure && !/\.lan\./iu.test(url) && redirects.length <= 3;
}

async function walkAll(
  cases: readonly AddressCase[],
  world: ForgedWorld,
  hosts: (current: AddressCase) => readonly string[],
): Promise<WalkedImage[]> {
  const walked: WalkedImage[] = [];
  for (const current of cases) {
    world.stage(current);
    walked.push(await walk(current, world, hosts(current)));
  }
  return walked;
}

async function walk(
  current: AddressCase,
  world: ForgedWorld,
  hosts: readonly string[],
): Promise<WalkedImage> {
  await using outbound = createOutbound({ privateHosts: [] });
  const fetchImage = createImageFetcher({ hosts, outbound });
  let at = "";
  let problem = "";
  for (let asked = 0; problem === "" && asked < (current.asks ?? 1); asked += 1) {
    const address = current.url ?? `${current.start ?? usualStart}/begin`;
    const fetched = await fetchImage(address, { mostBytes, signal: AbortSignal.timeout(20_000) });
    problem = "problem" in fetched ? fetched.problem : "";
    // Sent by the world, which says where it was dialled.
    at = "problem" in fetched ? "" : (JSON.parse(fetched.toString()) as { readonly at: string }).at;
    // A new connection asks the resolver again.
    if (current.asks !== undefined) await outbound[Symbol.asyncDispose]();
  }
  const harmless = new Set([...(current.mayReach ?? []), "203.0.114.10:443", "203.0.114.20:443"]);
  const connections = world.takeConnections().filter((address) => !harmless.has(address));
  const { why, reaches = "", mayAnswer = false } = current;
  return { why, at, reaches, problem, mayAnswer, connections };
}

function hostsOf({ url, redirects = [], start = usualStart }: AddressCase): readonly string[] {
  return [url ?? start, ...redirects, usualStart]
    .map((address) => URL.parse(address, usualStart)?.host ?? "")
    .filter((host) => host !== "");
}

await walkImageAddresses();
