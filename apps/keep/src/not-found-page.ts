import type { BufferedResponse, RequestHead } from "@hearth-and-keep/http-service";
import type { KeepDependencies } from "./dependencies.ts";
import type { RequestFailure } from "./failures.ts";
import { htmlResponse, pageOptions } from "./sign-in/http.ts";
import { renderNotFoundPage } from "./sign-in/pages.ts";

/** For a person whose browser opens a path that no route has; undefined for programs. */
export function notFoundPage(
  { method, headers: { accept } }: Pick<RequestHead, "method" | "headers">,
  { kind }: Pick<RequestFailure, "kind">,
  dependencies: Pick<KeepDependencies, "signIn" | "console">,
): BufferedResponse | undefined {
  const isNavigation = method === "GET" && typeof accept === "string" && accept.includes("text/html");
  if (kind !== "not-found" || !isNavigation) return undefined;
  return htmlResponse(renderNotFoundPage(pageOptions(dependencies)), 404);
}
