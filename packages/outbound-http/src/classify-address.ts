import { BlockList, isIPv4, isIPv6 } from "node:net";

/** `private` is allowed for listed hosts. `never` is never allowed, e.g. cloud metadata services. */
export type AddressKind = "public" | "private" | "never";

const privateAddresses = blockListOf([
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "::1/128",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
]);

/** Cloud metadata services come first: they lie inside private and even public ranges. */
const neverAddresses = blockListOf([
  "169.254.169.254/32",
  "169.254.170.0/24",
  "100.100.100.200/32",
  "168.63.129.16/32",
  "fd00:ec2::/32",
  "fd20:ce::/32",
  "0.0.0.0/8",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // Inside the public IPv6 range: tunnels to arbitrary IPv4 addresses, and documentation.
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
]);

const publicIPv6 = blockListOf(["2000::/3"]);
/** Addresses whose last 32 bits are the actual IPv4 destination: IPv4-mapped and NAT64. */
const embeddingIPv4 = blockListOf(["::ffff:0:0/96", "64:ff9b::/96"]);

/** Accepts the spellings of the system's resolver and of `URL`; anything else is `never`. */
export function classifyAddress(address: string): AddressKind {
  if (isIPv4(address)) return classifyListed(address, "ipv4") ?? "public";
  // The zone only selects a local network interface.
  const [bare = ""] = address.split("%");
  if (!isIPv6(bare)) return "never";
  if (embeddingIPv4.check(bare, "ipv6")) return classifyAddress(lastFourBytes(bare));
  return classifyListed(bare, "ipv6") ?? (publicIPv6.check(bare, "ipv6") ? "public" : "never");
}

function classifyListed(address: string, family: "ipv4" | "ipv6"): AddressKind | undefined {
  if (neverAddresses.check(address, family)) return "never";
  return privateAddresses.check(address, family) ? "private" : undefined;
}

function lastFourBytes(address: string): string {
  // `URL` normalises every spelling to hexadecimal groups, dotted quads included.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::").join(":0:0:").split(":");
  return groups
    .slice(-2)
    .map((group) => Number.parseInt(group === "" ? "0" : group, 16))
    .flatMap((group) => [Math.floor(group / 256), group % 256])
    .join(".");
}

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return list;
}
