import { BlockList, isIP } from "node:net";

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

/** Whether every address of the child's ranges is one of the parent's, also where it takes several of them together. */
export function addressesCover(
  parent: readonly string[] | undefined,
  child: readonly string[] | undefined,
): boolean {
  if (parent === undefined) return true;
  const outer = joined(parent.map(spanOf));
  return (child ?? everyAddress)
    .map(spanOf)
    .every(({ first, last }) => outer.some((span) => span.first <= first && last <= span.last));
}

const everyAddress = ["::/0"];

/** Addresses are numbers of 128 bits, those of IPv4 as they are written in IPv6. */
type Span = { readonly first: bigint; readonly last: bigint };

/** Sorted, and with those that touch each other made one. */
function joined(spans: readonly Span[]): readonly Span[] {
  const result: Span[] = [];
  for (const span of spans.toSorted((one, other) => (one.first < other.first ? -1 : 1))) {
    const before = result.at(-1);
    if (before === undefined || span.first > before.last + 1n) result.push(span);
    else if (span.last > before.last) result.splice(-1, 1, { first: before.first, last: span.last });
  }
  return result;
}

function spanOf(range: string): Span {
  const { network, bits, family } = readRange(range);
  const size = 1n << BigInt((family === "ipv6" ? 128 : 32) - bits);
  const number = numberOf(network);
  const first = number - (number % size);
  return { first, last: first + size - 1n };
}

function numberOf(address: string): bigint {
  const [plain = ""] = address.split("%");
  if (isIP(plain) === 4) return 0xffff_0000_0000n + BigInt(numberOfFour(plain));
  const [start = "", end] = plain.split("::");
  const before = groupsOf(start);
  const after = groupsOf(end ?? "");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after].reduce((sum, group) => sum * 65_536n + BigInt(group), 0n);
}

/** Of 16 bits each; the last two may be written as an address of IPv4. */
function groupsOf(text: string): readonly number[] {
  return text
    .split(":")
    .filter((group) => group !== "")
    .flatMap((group) => {
      if (!group.includes(".")) return [Number.parseInt(group, 16)];
      const four = numberOfFour(group);
      return [Math.floor(four / 65_536), four % 65_536];
    });
}

function numberOfFour(text: string): number {
  return text.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
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
