import { ConfigurationError } from "./errors.ts";

/** The origin of a URL to which a token may be sent. */
export function parseServer(text = ""): string {
  const url = text.length <= 2048 && URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin = url !== undefined && `${url.origin}/` === url.href;
  if (!isOrigin || !isSafe(url)) {
    const example = "such as https://keep.example; http:// is allowed for this machine only";
    throw new ConfigurationError(`Set server or KEEP_SERVER to the address of Keep, ${example}`);
  }
  return url.origin;
}

/** A token is never sent unencrypted over a network. */
export function isSafe({ protocol, hostname }: URL): boolean {
  const isLoopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/u.test(hostname);
  return protocol === "https:" || (protocol === "http:" && isLoopback);
}
