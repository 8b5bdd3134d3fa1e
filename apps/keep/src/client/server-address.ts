import { isLoopback } from "../sign-in/provider-address.ts";
import { clientFailure } from "./client-failure.ts";

const maxCharacters = 2048;

/** The origin of a server, without a trailing slash. A token is never sent unencrypted over a network. */
export function parseServer(text: string): string {
  const withScheme = /^https?:\/\//iu.test(text) ? text : `https://${text}`;
  const url = text.length > maxCharacters ? null : URL.parse(withScheme);
  const isOrigin =
    url !== null &&
    url.hostname !== "" &&
    url.username === "" &&
    url.password === "" &&
    url.pathname === "/" &&
    url.search === "" &&
    url.hash === "";
  if (!isOrigin) throw clientFailure({ kind: "server-invalid", text, reason: "malformed" });
  if (url.protocol === "http:" && !isLoopback(url))
    throw clientFailure({ kind: "server-invalid", text, reason: "plain-http" });
  return url.origin;
}
