const pathPattern = /^(?:\/(?:\*|[^/*\p{Cc}\p{Cs}]+))*(?:\/\*\*)?$/u;
const maxCharacters = 1024;

/** The distinct lines of a multi-line field, trimmed, without empty ones. */
export function parseLines(text: string): readonly string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ""))];
}

/** An error message, or undefined when the path pattern is valid. */
export function validatePathPattern(line: string): string | undefined {
  if (!line.startsWith("/")) return `"${line}" must start with /, e.g. /${line}`;
  if (line.length < 2) return `"/" alone matches nothing; use /** for everything`;
  if (line.endsWith("/")) return `"${line}" ends with /; use ${line}** for everything below it`;
  if (line.length > maxCharacters) return `A pattern can have at most ${maxCharacters} characters`;
  if (pathPattern.test(line)) return undefined;
  return `"${line}" is not valid: * matches one whole name, and ** is allowed only at the end`;
}

export function describePattern(line: string): string {
  const wildcard = /^(?<folder>.*)\/(?<last>\*\*?)$/u.exec(line)?.groups;
  if (wildcard === undefined) return `${line}: only this path`;
  const folder = wildcard["folder"] === "" ? "the vault" : wildcard["folder"];
  return wildcard["last"] === "**"
    ? `${line}: everything in ${folder}`
    : `${line}: everything directly in ${folder}`;
}

/** An error message, or undefined when the line is an IP address or a CIDR range. */
export function validateAddress(line: string): string | undefined {
  const [address = "", prefix, ...rest] = line.split("/");
  const bits = addressBits(address);
  const isPrefixValid = prefix === undefined || (/^\d{1,3}$/u.test(prefix) && Number(prefix) <= (bits ?? 0));
  if (bits !== undefined && isPrefixValid && rest.length === 0) return undefined;
  return `"${line}" is not an IP address (203.0.113.7) or range (10.0.0.0/8)`;
}

function addressBits(address: string): 32 | 128 | undefined {
  const octets = address.split(".");
  const isIpv4 =
    octets.length === 4 &&
    octets.every((octet) => /^(?:0|[1-9]\d{0,2})$/u.test(octet) && Number(octet) < 256);
  if (isIpv4) return 32;
  // Browsers parse IPv6 addresses only as a URL host.
  return address.includes(":") && !/[[\]/]/u.test(address) && URL.canParse(`http://[${address}]/`)
    ? 128
    : undefined;
}
