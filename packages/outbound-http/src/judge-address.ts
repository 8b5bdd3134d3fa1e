import { BlockList, isIPv4, isIPv6 } from "node:net";

/** `private`: where a registry of one's own may stand. `never`: where none stands, such as a cloud's metadata. */
export type AddressKind = "public" | "private" | "never";

const privateAddresses = listOf([
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

/** Metadata services first: they lie inside ranges that are private otherwise, or even public. */
const neverAddresses = listOf([
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
  // Inside the one range of IPv6 that is public: tunnels that end in any IPv4 address, and documentation.
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
]);

const publicIPv6 = listOf(["2000::/3"]);
/** Addresses whose last 32 bits are the IPv4 address that is spoken to in truth: mapped, and NAT64. */
const embeddingIPv4 = listOf(["::ffff:0:0/96", "64:ff9b::/96"]);

/** What kind of place an address is, as the system's resolver or `URL` spells it. What is no address is `never`. */
export function judgeAddress(address: string): AddressKind {
  if (isIPv4(address)) return judgeListed(address, "ipv4") ?? "public";
  // A zone names one of our own network cards; the address before it says the rest.
  const [bare = ""] = address.split("%");
  if (!isIPv6(bare)) return "never";
  if (embeddingIPv4.check(bare, "ipv6")) return judgeAddress(lastFourBytes(bare));
  return judgeListed(bare, "ipv6") ?? (publicIPv6.check(bare, "ipv6") ? "public" : "never");
}

function judgeListed(address: string, family: "ipv4" | "ipv6"): AddressKind | undefined {
  if (neverAddresses.check(address, family)) return "never";
  return privateAddresses.check(address, family) ? "private" : undefined;
}

function lastFourBytes(address: string): string {
  // `URL` writes every spelling in hexadecimal groups, also one that ends in dotted numbers.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::").join(":0:0:").split(":");
  return groups
    .slice(-2)
    .map((group) => Number.parseInt(group === "" ? "0" : group, 16))
    .flatMap((group) => [Math.floor(group / 256), group % 256])
    .join(".");
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return list;
}
