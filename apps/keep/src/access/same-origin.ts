import type { RequestHead } from "@hearth-and-keep/http-service";
import { requestFailure } from "../failures.ts";

/**
 * A browser sends its cookies whoever wrote the page, so a session counts only when the browser says that the request
 * comes from our own pages: by fetch metadata, or by the Origin where there is none. One that says neither is refused.
 */
export function refuseOtherSites({ headers }: Pick<RequestHead, "headers">, publicUrl: URL): void {
  const site = headers["sec-fetch-site"];
  const isOurs = site === undefined ? headers["origin"] === publicUrl.origin : site === "same-origin";
  if (!isOurs) throw requestFailure({ kind: "cross-site" });
}
