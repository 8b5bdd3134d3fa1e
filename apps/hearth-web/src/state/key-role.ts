import type { CallerStatus, KeyRole } from "@hearth-and-keep/hearth-contract";
import { request } from "../server-api/api-client.ts";
import { createStore } from "./store.ts";

/**
 * The role of the API key that the browser sends; undefined until the server has reported it. The screens only reflect
 * it: the server rejects what the key may not do in any case.
 */
export const keyRole = createStore<KeyRole | undefined>(undefined);

export async function loadKeyRole(): Promise<void> {
  const role = await request<CallerStatus>("/api/status").then(
    (status) => status.role,
    // A request that failed says nothing about the key.
    () => keyRole.get() ?? "admin",
  );
  keyRole.set(() => role);
}
