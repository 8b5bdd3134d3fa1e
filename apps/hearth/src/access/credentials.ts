import type { RequestHead } from "@hearth-and-keep/http-service";

/**
 * All credentials of a request: `Authorization: Bearer`, `Authorization: Basic` (the password; the user name is ignored)
 * and `x-api-key`, accepted on every API. Empty ones are ignored, because clients without a key send them.
 * Query parameters and cookies are never used.
 */
export function readCredentials(headers: RequestHead["headers"]): readonly string[] {
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

/** `name:password` in base64; the password may contain colons. */
function readPassword(encoded: string): string {
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon === -1 ? "" : text.slice(colon + 1);
}
