/**
 * @module
 * Serves the web UI under `/ui` from memory. Files are read at startup and compressed on first use. Scripts and styles
 * have a content hash in their names and are cached forever; the HTML page is never cached. The security headers allow
 * only our own scripts and connections to this server, and forbid framing.
 * Imported by `routes.ts`, and by `commands/serve.ts`, which reads the files.
 */
import {
  type BufferedResponse,
  type HttpResponse,
  type RequestHead,
  readWebFiles,
  textResponse,
  type WebFiles,
  webAssetResponse,
  webPageResponse,
} from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";

/** Next to the program in a tarball, or in the source tree. */
const folders = ["./page/", "../../../hearth-web/dist/"].map((path) => new URL(path, import.meta.url));

export function readWebUiFiles(): Promise<WebFiles> {
  return readWebFiles(folders);
}

const basePath = "/ui";
/** Client-side routes; all of them serve the HTML page. */
const clientRoutes = new Set(["models", "live", "usage", "connect"]);

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const securityHeaders = {
  "content-security-policy": contentSecurityPolicy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
} as const;

const notBuiltText =
  'The web UI has not been built. Run "npm run build:pages" and restart Hearth. The API works without it.\n';

export async function handleWebUi(
  { headers }: HearthRequest,
  { webUiFiles }: HearthDependencies,
): Promise<HttpResponse> {
  const found = webUiFiles.get("index.html");
  if (found === undefined) return withSecurityHeaders(textResponse(notBuiltText), "no-cache");
  return withSecurityHeaders(await webPageResponse(headers, found), "no-cache");
}

/** A script, a style, or a client-side route. */
export async function handleWebUiFile(
  request: HearthRequest,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const name = request.parameters["path"] ?? "";
  if (clientRoutes.has(name)) return handleWebUi(request, dependencies);
  const found = name === "index.html" ? undefined : dependencies.webUiFiles.get(name);
  if (found === undefined) throw requestFailure({ kind: "route-not-found" });
  return withSecurityHeaders(await webAssetResponse(request.headers, found));
}

function withSecurityHeaders(response: BufferedResponse, cacheControl?: string): BufferedResponse {
  return {
    ...response,
    headers: {
      ...response.headers,
      vary: "origin, accept-encoding",
      ...securityHeaders,
      ...(cacheControl === undefined ? {} : { "cache-control": cacheControl }),
    },
  };
}

/** Ollama clients probe the root, and people open it in a browser; browsers are redirected to the web UI. */
export function redirectBrowsers(handle: () => BufferedResponse): (request: HearthRequest) => HttpResponse {
  return ({ headers }) => {
    const vary = "origin, accept, sec-fetch-mode";
    if (isNavigation(headers)) return { status: 302, headers: { location: basePath, vary } };
    const response = handle();
    return { ...response, headers: { ...response.headers, vary } };
  };
}

/** Browsers send Sec-Fetch-Mode; older ones put text/html first in Accept. */
function isNavigation(headers: RequestHead["headers"]): boolean {
  const accepted = String(headers["accept"] ?? "").toLowerCase();
  const mode = headers["sec-fetch-mode"];
  return mode === undefined
    ? accepted.startsWith("text/html")
    : mode === "navigate" && accepted.includes("text/html");
}
