import type { PoolPlan } from "@hearth-and-keep/upstream-engine";
import type { EntryReader } from "./entry-reader.ts";

type Engines = PoolPlan["engines"];

const mostAddresses = 1024;
/** Where a pod finds the cluster it runs in, and what proves who it is. */
const cluster = {
  server: "https://kubernetes.default.svc",
  accountFolder: "/var/run/secrets/kubernetes.io/serviceaccount",
} as const;
const partPattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/u;

/** Where the engines of an entry are: listed, or found by a name or in a cluster. */
export function readEngines(reader: EntryReader): Engines | undefined {
  const listed = reader.texts("addresses", { most: mostAddresses });
  const discover = reader.table("discover");
  if (reader.has("addresses") === (discover !== undefined)) {
    reader.say("", 'must have either "addresses" or "discover"');
    return undefined;
  }
  if (discover !== undefined) return readDiscovery(discover);
  const addresses = (listed ?? []).flatMap((text) => readAddress(reader, "addresses", text) ?? []);
  if (new Set(addresses.map(({ href }) => href)).size < addresses.length) {
    reader.say("addresses", "names the same engine twice");
  }
  return addresses.length === 0 ? undefined : { type: "addresses", addresses };
}

function readDiscovery(reader: EntryReader): Engines | undefined {
  reader.refuseOthers(["dns", "kubernetes"]);
  const name = reader.text("dns", { most: 2048 });
  const kubernetes = reader.table("kubernetes");
  if ((name === undefined) === (kubernetes === undefined)) {
    reader.say("", 'must have either "dns" or "kubernetes"');
    return undefined;
  }
  if (kubernetes !== undefined) return readKubernetes(kubernetes);
  const address = readAddress(reader, "dns", name ?? "");
  if (address?.protocol === "https:") {
    reader.say("dns", "must begin with http: certificates are not made for the addresses behind a name");
  }
  return address === undefined ? undefined : { type: "dns", address };
}

function readKubernetes(reader: EntryReader): Engines | undefined {
  reader.refuseOthers(["namespace", "service", "port", "server", "account_folder"]);
  const namespace = readPart(reader, "namespace");
  const service = readPart(reader, "service");
  const port = reader.wholeNumber("port", { least: 1, most: 65_535 });
  if (port === undefined) reader.say("port", "is needed");
  const written = reader.text("server", { most: 2048 });
  const server = readAddress(reader, "server", written ?? cluster.server);
  const accountFolder = reader.text("account_folder", { most: 4096 }) ?? cluster.accountFolder;
  if (namespace === undefined || service === undefined || port === undefined || server === undefined) {
    return undefined;
  }
  return { type: "kubernetes", namespace, service, port, server, accountFolder };
}

function readPart(reader: EntryReader, key: string): string | undefined {
  const text = reader.text(key, { most: 63 });
  if (text !== undefined && partPattern.test(text)) return text;
  reader.say(key, "must be a name of lower-case letters, digits and hyphens");
  return undefined;
}

/** Credentials in an address would show in metrics, so a key comes by its file alone. */
function readAddress(reader: EntryReader, key: string, text: string): URL | undefined {
  const address = URL.parse(text);
  const isSound =
    address !== null &&
    /^https?:$/u.test(address.protocol) &&
    address.username === "" &&
    address.password === "" &&
    address.search === "" &&
    address.hash === "";
  if (isSound) return address;
  reader.say(key, "must have addresses like http://10.0.0.4:8000, without a key, a query or a fragment");
  return undefined;
}
