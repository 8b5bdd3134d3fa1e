/** How programs of several languages write a value, computed apart from the code under test. */
export function patternsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const percent = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0").toUpperCase()}`);
  const unreserved = /[A-Za-z0-9_.~-]/u;
  const strict = [...bytes].map((byte, index) => {
    const character = String.fromCharCode(byte);
    return unreserved.test(character) ? character : (percent[index] ?? "");
  });
  const json = JSON.stringify(value);
  return [
    value,
    bytes.toString("base64"),
    bytes.toString("base64url"),
    Buffer.from(`user:${value}`).toString("base64"),
    encodeURIComponent(value),
    strict.join(""),
    strict.join("").replaceAll("%2F", "/"),
    strict.join("").toLowerCase() === strict.join("") ? "" : strict.join("").replaceAll("%20", "+"),
    json,
    json.replaceAll("/", "\\/"),
    json.replaceAll("ü", "\\u00fc"),
    json.replaceAll("&", "\\u0026"),
  ].filter((form) => form !== "");
}
