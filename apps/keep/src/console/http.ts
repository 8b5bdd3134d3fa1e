/**
 * @module
 * The console as files: read at start, packed when first asked for, given out from memory. Scripts and styles have the hash of their
 * content in their names and may be kept for ever; the page itself never is. Promises that a page of ours runs our own
 * scripts alone and speaks to nobody but us.
 * Imported by `routes.ts`.
 */
import { type HttpResponse, webAssetResponse, webPageResponse } from "@hearth-and-keep/http-service";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import type { KeepRequest } from "../route-row.ts";

/** The console's router picks the screen in the browser, so all of its URLs get the same page. */
export async function handleConsolePage(
  { headers }: KeepRequest,
  { console: { files, policy } }: KeepDependencies,
): Promise<HttpResponse> {
  const found = files.get("index.html");
  if (found === undefined) throw requestFailure({ kind: "not-found" });
  const response = await webPageResponse(headers, found);
  return { ...response, headers: { ...response.headers, "content-security-policy": policy() } };
}

export async function handleConsoleFile(
  { headers, parameters }: KeepRequest,
  { console: { files } }: KeepDependencies,
): Promise<HttpResponse> {
  const name = parameters["file"] ?? "";
  const found = name === "index.html" ? undefined : files.get(name);
  if (found === undefined) throw requestFailure({ kind: "not-found" });
  return webAssetResponse(headers, found);
}
