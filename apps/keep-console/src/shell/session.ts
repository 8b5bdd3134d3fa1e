import type { Session } from "@hearth-and-keep/vault-contract";
import { request } from "../vault-api/api-client.ts";

export async function signOut(): Promise<void> {
  await request("/auth/logout", { method: "POST" });
  window.location.assign("/sign-in");
}

/** Whether the person may manage other accounts. */
export function isOperator({ account }: Session): boolean {
  return account.is_operator === true;
}
