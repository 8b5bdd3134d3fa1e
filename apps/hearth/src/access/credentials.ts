import type { CallHead } from "@hearth-and-keep/http-service";

/**
 * Every credential a request shows, in any of the three forms, on every family: `Authorization: Bearer`,
 * `Authorization: Basic` (its password; the name does not matter) and `x-api-key`. An empty one counts as none,
 * because clients without a key send it so. Queries and cookies are never looked at.
 */
export function readCredentials(headers: CallHead["headers"]): readonly string[] {
  const authorizations = valuesOf(headers["authorization"]).map(readAuthorization);
  const apiKeys = valuesOf(headers["x-api-key"]).map((text) => text.trim());
  return [...authorizations, ...apiKeys].filter((credential) => credential !== "");
}

function valuesOf(header: string | readonly string[] | undefined): readonly string[] {
  if (header === undefined) return [];
  return typeof header === "string" ? [header] : header;
}

function readAuthorization(header: string): string {
  const { scheme = "", rest = "" } = /^(?<scheme>[A-Za-z]+) +(?<rest>.*)$/u.exec(header.trim())?.groups ?? {};
  switch (scheme.toLowerCase()) {
    case "bearer":
      return rest.trim();
    case "basic":
      return readPassword(rest);
    default:
      return "";
  }
}

/** `name:password` in base64; the password may hold colons. */
function readPassword(encoded: string): string {
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon === -1 ? "" : text.slice(colon + 1);
}
