/**
 * @module
 * Serves the console's files from memory; they are read at start and compressed on first request. Scripts and styles have
 * content hashes in their names and are cached indefinitely, the page itself never. Its policy allows only Keep's own
 * scripts and API.
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
