const leapYear = String.raw`(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)`;
const date = [
  String.raw`\d{4}-(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])`,
  String.raw`\d{4}-(?:0[469]|11)-(?:0[1-9]|[12]\d|30)`,
  String.raw`\d{4}-02-(?:0[1-9]|1\d|2[0-8])`,
  `${leapYear}-02-29`,
].join("|");
// Without leap seconds, which exist only at certain moments and are rarely intended.
const time = String.raw`(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)`;
const byte = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,20}[A-Za-z0-9])?";
// The last label of a host name starts with a letter; a numeric one would make it an IPv4 address.
const lastLabel = "[A-Za-z](?:[A-Za-z0-9-]{0,20}[A-Za-z0-9])?";
const hostname = String.raw`(?:${label}\.){0,3}${lastLabel}`;
const mailAtom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}";
const hexadecimal = "[0-9a-fA-F]";
const group = `${hexadecimal}{1,4}`;

/**
 * Anchored patterns of the supported formats. They may be narrower than the standard to stay short, but never wider.
 */
const formats: ReadonlyMap<string, string> = new Map(
  Object.entries({
    date,
    time,
    "date-time": `(?:${date})T(?:${time})`,
    duration: String.raw`P(?:\d{1,9}W|\d{1,9}Y(?:\d{1,9}M)?(?:\d{1,9}D)?|\d{1,9}M(?:\d{1,9}D)?|\d{1,9}D|(?:\d{1,9}D)?T(?:\d{1,9}H(?:\d{1,9}M(?:\d{1,9}S)?)?|\d{1,9}M(?:\d{1,9}S)?|\d{1,9}S))`,
    uuid: `${hexadecimal}{8}-${hexadecimal}{4}-${hexadecimal}{4}-${hexadecimal}{4}-${hexadecimal}{12}`,
    email: String.raw`${mailAtom}(?:\.${mailAtom})?@(?:${label}\.){1,2}${lastLabel}`,
    ipv4: String.raw`${byte}(?:\.${byte}){3}`,
    ipv6: `(?:${group}:){7}${group}|(?:${group}:){1,6}:${group}|(?:${group}:){1,7}:|::(?:${group}:){0,5}${group}|::`,
    hostname,
    uri: String.raw`[a-z][a-z0-9+.-]{1,9}://${hostname}(?::\d{1,4})?(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%${hexadecimal}{2})*)*(?:\?[A-Za-z0-9._~=&-]*)?(?:#[A-Za-z0-9._~-]*)?`,
  }),
);

/** Standard formats without a pattern here; other unknown format names have no effect. */
const unsupportedFormats: ReadonlySet<string> = new Set([
  "idn-email",
  "idn-hostname",
  "iri",
  "iri-reference",
  "json-pointer",
  "regex",
  "relative-json-pointer",
  "uri-reference",
  "uri-template",
]);

export function patternOfFormat(format: string): string | undefined {
  const source = formats.get(format);
  return source === undefined ? undefined : `^(?:${source})$`;
}

export function isUnsupportedFormat(format: string): boolean {
  return unsupportedFormats.has(format);
}
