const pattern = /^(?:\/(?:\*|[^/*\p{Cc}\p{Cs}]+))*(?:\/\*\*)?$/u;
const mostCharacters = 1024;

/** What stands in the lines of a field, each once. */
export function linesOf(text: string): readonly string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ""))];
}

/** What is wrong with a pattern of paths, as one would tell it; undefined when nothing is. */
export function patternMistake(line: string): string | undefined {
  if (!line.startsWith("/")) return `"${line}" must begin with /, as in /${line}`;
  if (line.length < 2) return `"/" alone reaches nothing: write /** for everything`;
  if (line.endsWith("/")) return `"${line}" ends with /: write ${line}** for everything below`;
  if (line.length > mostCharacters) return `A pattern has at most ${mostCharacters} characters`;
  if (pattern.test(line)) return undefined;
  return `"${line}" does not work: * stands for one whole name, and ** only at the end`;
}

/** What a pattern reaches, in words. */
export function tellReach(line: string): string {
  const below = /^(?<folder>.*)\/(?<last>\*\*?)$/u.exec(line)?.groups;
  if (below === undefined) return `${line}: this one alone`;
  const folder = below["folder"] === "" ? "the vault" : below["folder"];
  return below["last"] === "**"
    ? `${line}: everything in ${folder}`
    : `${line}: what is directly in ${folder}`;
}

/** What is wrong with an address or a range; undefined when nothing is. */
export function addressMistake(line: string): string | undefined {
  const [address = "", bits, ...rest] = line.split("/");
  const width = widthOf(address);
  const isRangeFine = bits === undefined || (/^\d{1,3}$/u.test(bits) && Number(bits) <= (width ?? 0));
  if (width !== undefined && isRangeFine && rest.length === 0) return undefined;
  return `"${line}" is no address such as 203.0.113.7, and no range such as 10.0.0.0/8`;
}

function widthOf(address: string): 32 | 128 | undefined {
  const parts = address.split(".");
  const isFour =
    parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/u.test(part) && Number(part) < 256);
  if (isFour) return 32;
  // Browsers read an IPv6 address nowhere but as a host.
  return address.includes(":") && !/[[\]/]/u.test(address) && URL.canParse(`http://[${address}]/`)
    ? 128
    : undefined;
}
