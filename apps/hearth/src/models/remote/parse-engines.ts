import { classifyAddress } from "@hearth-and-keep/outbound-http";
import type { PoolPlan } from "@hearth-and-keep/upstream-engine";
import type { RemoteExecution } from "../metadata/describe-model.ts";
import { below, type ReportError, readTable, type TableValues, type TomlTable } from "./read-table.ts";
import { discoverFields, kubernetesFields, type modelFields } from "./schema.ts";

type Engines = PoolPlan["engines"];
type ModelEntry = TableValues<typeof modelFields>;

/** Where a pod finds the API server of its cluster and its service account. */
const cluster = {
  server: "https://kubernetes.default.svc",
  accountFolder: "/var/run/secrets/kubernetes.io/serviceaccount",
} as const;

/** The engines of a model: a list of addresses, or discovery by DNS or in Kubernetes. */
export function parseEngines(
  table: TomlTable,
  { addresses: listed = [], discover }: ModelEntry,
  report: ReportError,
): Engines | undefined {
  if (Object.hasOwn(table, "addresses") === Object.hasOwn(table, "discover")) {
    report("", 'must have either "addresses" or "discover"');
    return undefined;
  }
  if (discover !== undefined) return parseDiscovery(discover, below(report, "discover"));
  const addresses = listed.flatMap((text) => parseAddress("addresses", text, report) ?? []);
  if (new Set(addresses.map(({ href }) => href)).size < addresses.length) {
    report("addresses", "lists the same engine twice");
  }
  return addresses.length === 0 ? undefined : { type: "addresses", addresses };
}

function parseDiscovery(table: object, report: ReportError): Engines | undefined {
  const { dns, kubernetes } = readTable({ ...table }, discoverFields, report);
  if ((dns === undefined) === (kubernetes === undefined)) {
    report("", 'must have either "dns" or "kubernetes"');
    return undefined;
  }
  if (kubernetes !== undefined) return parseKubernetes(kubernetes, below(report, "kubernetes"));
  const address = parseAddress("dns", dns ?? "", report);
  if (address?.protocol === "https:") {
    report("dns", "must use http: certificates are not issued for the addresses behind a DNS name");
  }
  return address === undefined ? undefined : { type: "dns", address };
}

function parseKubernetes(table: object, report: ReportError): Engines | undefined {
  const {
    namespace,
    service,
    port,
    server: url,
    account_folder: folder,
  } = readTable({ ...table }, kubernetesFields, report);
  for (const key of ["namespace", "service", "port"]) {
    if (!Object.hasOwn(table, key)) report(key, "is required");
  }
  const server = parseAddress("server", url ?? cluster.server, report);
  if (namespace === undefined || service === undefined || port === undefined || server === undefined) {
    return undefined;
  }
  return {
    type: "kubernetes",
    namespace,
    service,
    port,
    server,
    accountFolder: folder ?? cluster.accountFolder,
  };
}

/** Rejects credentials, because addresses appear in metrics; a key must come from a file. */
function parseAddress(path: string, text: string, report: ReportError): URL | undefined {
  const address = URL.parse(text);
  const isValid =
    address !== null &&
    /^https?:$/u.test(address.protocol) &&
    address.username === "" &&
    address.password === "" &&
    address.search === "" &&
    address.hash === "";
  if (isValid) return address;
  report(path, "must be a URL such as http://10.0.0.4:8000, without a key, a query or a fragment");
  return undefined;
}

/** Names without a dot, and those that public DNS does not resolve (RFC 6762, 6761, 8375, and ICANN for "internal"). */
const ownName = /^[^.:]+$|\.(?:local|localhost|internal|lan|home\.arpa|svc)$/iu;

/** An engine whose address does not show that it is in the operator's own network counts as somebody else's. */
export function locateEngines(engines: Engines): RemoteExecution["location"] {
  if (engines.type === "kubernetes") return "pool";
  const addresses = engines.type === "dns" ? [engines.address] : engines.addresses;
  return addresses.every(isOwnAddress) ? "pool" : "remote";
}

function isOwnAddress({ hostname }: URL): boolean {
  const host = hostname.replaceAll(/^\[|\]$|\.$/gu, "");
  return ownName.test(host) || classifyAddress(host) === "private";
}
