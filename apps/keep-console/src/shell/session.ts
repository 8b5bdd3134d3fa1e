import { request } from "../vault-api/api-client.ts";

export async function signOut(): Promise<void> {
  await request("/auth/logout", { method: "POST" });
  window.location.assign("/sign-in");
}
