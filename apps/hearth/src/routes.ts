import type { Route } from "@hearth-and-keep/http-service";
import { answerRoot, answerVersion } from "./dialects/ollama/status.ts";

export type HearthRoute = Route & { readonly dialect: "ollama" };

/** Every URL Hearth answers; a GET row also answers HEAD. */
// biome-ignore format: a table is read down its columns
export const routes: readonly HearthRoute[] = [
  { method: "GET", path: "/",            dialect: "ollama", handle: answerRoot },
  { method: "GET", path: "/api/version", dialect: "ollama", handle: answerVersion },
];
