import { alive, notReady, ready } from "@hearth-and-keep/vault-contract";
import { accountRoutes } from "./accounts/http.ts";
import { auditRoutes } from "./audit/http.ts";
import { consoleRoutes } from "./console/http.ts";
import { answerAlive, answerReady } from "./health.ts";
import { rotationRoutes } from "./keys/rotation/http.ts";
import { paperRoutes } from "./openapi/http.ts";
import type { KeepRoute } from "./route-row.ts";
import { exchangeRoutes } from "./secrets/exchange/http.ts";
import { folderRoutes } from "./secrets/folders/http.ts";
import { secretRoutes } from "./secrets/http.ts";
import { listRoutes } from "./secrets/listing/http.ts";
import { valueRoutes } from "./secrets/values/http.ts";
import { versionRoutes } from "./secrets/versions/http.ts";
import { signInRoutes } from "./sign-in/http.ts";
import { tokenRoutes } from "./tokens/http.ts";
import { vaultRoutes } from "./vaults/http.ts";

/** Every URL Keep answers; a GET row also answers HEAD. Each area has its rows in its own `http.ts`. */
// biome-ignore format: a table is read down its columns
export const routes: readonly KeepRoute[] = [
  { method: "GET", path: "/healthz", access: "public", summary: "Whether the process lives", answers: { 200: { json: alive } }, handle: answerAlive },
  { method: "GET", path: "/readyz",  access: "public", summary: "Whether this node can serve", answers: { 200: { json: ready }, 503: { json: notReady } }, handle: (_call, parts) => answerReady(parts) },
  ...signInRoutes,
  ...accountRoutes,
  ...paperRoutes,
  ...tokenRoutes,
  ...vaultRoutes,
  ...exchangeRoutes,
  ...secretRoutes,
  ...valueRoutes,
  ...versionRoutes,
  ...folderRoutes,
  ...listRoutes,
  ...auditRoutes,
  ...rotationRoutes,
  ...consoleRoutes,
];
