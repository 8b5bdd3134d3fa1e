import { BlockList, isIP } from "node:net";

/** Whether the address is in one of the ranges; an IPv4-mapped IPv6 address counts as IPv4. */
export function isInRanges(ranges: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const { network, bits, family } = parseRange(range);
    list.addSubnet(network, bits, family);
  }
  const unmapped = unmapIpv4(address);
  return isIP(unmapped) !== 0 && list.check(unmapped, familyOf(unmapped));
}

/** Whether the parent's ranges, possibly only together, contain every address of the child's ranges. */
export function addressesCover(
  parent: readonly string[] | undefined,
  child: readonly string[] | undefined,
): boolean {
  if (parent === undefined) return true;
  const outer = mergeSpans(parent.map(toSpan));
  return (child ?? allAddresses)
    .map(toSpan)
    .every(({ first, last }) => outer.some((span) => span.first <= first && last <= span.last));
}

const allAddresses = ["::/0"];

/** Addresses as 128-bit numbers; IPv4 addresses are mapped into IPv6. */
type Span = { readonly first: bigint; readonly last: bigint };

/** Sorts the spans and merges those that overlap or touch. */
function mergeSpans(spans: readonly Span[]): readonly Span[] {
  const result: Span[] = [];
  for (const span of spans.toSorted((one, other) => (one.first < other.first ? -1 : 1))) {
    const before = result.at(-1);
    if (before === undefined || span.first > before.last + 1n) result.push(span);
    else if (span.last > before.last) result.splice(-1, 1, { first: before.first, last: span.last });
  }
  return result;
}

function toSpan(range: string): Span {
  const { network, bits, family } = parseRange(range);
  const size = 1n << BigInt((family === "ipv6" ? 128 : 32) - bits);
  const number = toNumber(network);
  const first = number - (number % size);
  return { first, last: first + size - 1n };
}

function toNumber(address: string): bigint {
  const [unscoped = ""] = address.split("%");
  if (isIP(unscoped) === 4) return 0xffff_0000_0000n + BigInt(ipv4ToNumber(unscoped));
  const [start = "", end] = unscoped.split("::");
  const before = parseGroups(start);
  const after = parseGroups(end ?? "");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after].reduce((sum, group) => sum * 65_536n + BigInt(group), 0n);
}

/** Groups of 16 bits; the last two may be written as an IPv4 address. */
function parseGroups(text: string): readonly number[] {
  return text
    .split(":")
    .filter((group) => group !== "")
    .flatMap((group) => {
      if (!group.includes(".")) return [Number.parseInt(group, 16)];
      const value = ipv4ToNumber(group);
      return [Math.floor(value / 65_536), value % 65_536];
    });
}

function ipv4ToNumber(text: string): number {
  return text.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
}

function parseRange(range: string): { network: string; bits: number; family: "ipv4" | "ipv6" } {
  const [address = "", bits] = range.split("/");
  const family = familyOf(address);
  return { network: address, bits: bits === undefined ? prefixLength(isIP(address)) : Number(bits), family };
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function prefixLength(version: number): number {
  return version === 6 ? 128 : 32;
}

function unmapIpv4(address: string): string {
  return /^::ffff:(?<ipv4>\d+\.\d+\.\d+\.\d+)$/iu.exec(address)?.groups?.["ipv4"] ?? address;
}
