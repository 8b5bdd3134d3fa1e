import { ask } from "../vault-api/api-client.ts";

export async function signOut(): Promise<void> {
  await ask("/auth/logout", { method: "POST" });
  window.location.assign("/sign-in");
}
