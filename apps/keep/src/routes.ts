import { answerAlive, answerReady } from "./health.ts";
import type { KeepRoute } from "./route-row.ts";
import { vaultRoutes } from "./vaults/http.ts";

/** Every URL Keep answers; a GET row also answers HEAD. Each area has its rows in its own `http.ts`. */
// biome-ignore format: a table is read down its columns
export const routes: readonly KeepRoute[] = [
  { method: "GET", path: "/healthz", access: "public", summary: "Whether the process lives", answers: { 200: { type: "application/json" } }, handle: answerAlive },
  { method: "GET", path: "/readyz",  access: "public", summary: "Whether this node can serve", answers: { 200: { type: "application/json" } }, handle: (_call, parts) => answerReady(parts) },
  ...vaultRoutes,
];
