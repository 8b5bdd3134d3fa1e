import type { Route } from "@hearth-and-keep/http-service";
import { answerAlive, answerReady, type HealthParts } from "./health.ts";

export type KeepParts = HealthParts;

/** Every URL Keep answers; a GET row also answers HEAD. */
export function routes(parts: KeepParts): readonly Route[] {
  // biome-ignore format: a table is read down its columns
  return [
    { method: "GET", path: "/healthz", handle: answerAlive },
    { method: "GET", path: "/readyz",  handle: () => answerReady(parts) },
  ];
}
