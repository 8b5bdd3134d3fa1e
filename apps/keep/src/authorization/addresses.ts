import { BlockList, isIP } from "node:net";

/** Whether a text is an address, or a range such as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/u.test(bits) && Number(bits) <= widthOf(version));
}

/** Whether an address is one of these ranges; an IPv4 address written as IPv6 is the IPv4 address. */
export function isFromOneOf(ranges: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const { network, bits, family } = readRange(range);
    list.addSubnet(network, bits, family);
  }
  const plain = plainAddress(address);
  return isIP(plain) !== 0 && list.check(plain, familyOf(plain));
}

export function addressesCover(
  parent: readonly string[] | undefined,
  child: readonly string[] | undefined,
): boolean {
  if (parent === undefined) return true;
  return child !== undefined && child.every((inner) => parent.some((outer) => rangeCovers(outer, inner)));
}

function rangeCovers(outer: string, inner: string): boolean {
  const { bits, family } = readRange(outer);
  const within = readRange(inner);
  return within.family === family && within.bits >= bits && isFromOneOf([outer], within.network);
}

function readRange(range: string): { network: string; bits: number; family: "ipv4" | "ipv6" } {
  const [address = "", bits] = range.split("/");
  const family = familyOf(address);
  return { network: address, bits: bits === undefined ? widthOf(isIP(address)) : Number(bits), family };
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function widthOf(version: number): number {
  return version === 6 ? 128 : 32;
}

function plainAddress(address: string): string {
  return /^::ffff:(?<plain>\d+\.\d+\.\d+\.\d+)$/iu.exec(address)?.groups?.["plain"] ?? address;
}
