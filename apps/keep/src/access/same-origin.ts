import type { RequestHead } from "@hearth-and-keep/http-service";
import { requestFailure } from "../failures.ts";

/**
 * CSRF protection. Browsers send cookies with cross-site requests too, so a session is accepted only if Fetch Metadata
 * or, in browsers without it, the Origin header shows that the request comes from Keep's own pages.
 */
export function assertSameOrigin({ headers }: Pick<RequestHead, "headers">, publicUrl: URL): void {
  const site = headers["sec-fetch-site"];
  const isSameOrigin = site === undefined ? headers["origin"] === publicUrl.origin : site === "same-origin";
  if (!isSameOrigin) throw requestFailure({ kind: "cross-site" });
}
