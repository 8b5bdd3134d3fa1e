/**
 * @module
 * The console as files: read at start, packed when first asked for, given out from memory. Scripts and styles have the hash of their
 * content in their names and may be kept for ever; the page itself never is. Promises that a page of ours runs our own
 * scripts alone and speaks to nobody but us.
 * Imported by `routes.ts`.
 */
import {
  type Answer,
  answerWebPage,
  answerWebPart,
  type CallHead,
  type WebFiles,
} from "@hearth-and-keep/http-service";
import type { KeepParts } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import type { KeepRoute } from "../route-row.ts";

const asset = { access: "public", answers: { 200: { type: "*/*" } } } as const;
const page = { access: "public", answers: { 200: { type: "text/html" } } } as const;

/** Addresses of the console's own places; it decides in the browser which is shown. */
const places = ["/", "/secrets", "/secrets/*", "/audit", "/account", "/welcome"];

export const consoleRoutes: readonly KeepRoute[] = [
  ...places.map(
    (path): KeepRoute => ({
      method: "GET",
      path,
      ...page,
      summary: "The console",
      handle: ({ headers }, parts) => answerPage(headers, parts.console),
    }),
  ),
  {
    method: "GET",
    path: "/console/:file",
    ...asset,
    summary: "A part of the console",
    handle: ({ headers, parameters }, parts) =>
      answerFile(headers, parts.console.files, parameters["file"] ?? ""),
  },
];

async function answerPage(
  headers: CallHead["headers"],
  { files, policy }: KeepParts["console"],
): Promise<Answer> {
  const found = files.get("index.html");
  if (found === undefined) throw requestFailure({ kind: "not-found" });
  const answer = await answerWebPage(headers, found);
  return { ...answer, headers: { ...answer.headers, "content-security-policy": policy() } };
}

async function answerFile(headers: CallHead["headers"], files: WebFiles, name: string): Promise<Answer> {
  const found = name === "index.html" ? undefined : files.get(name);
  if (found === undefined) throw requestFailure({ kind: "not-found" });
  return answerWebPart(headers, found);
}
