import { ask } from "../vault-api/ask.ts";

/** Who is signed in, as `GET /api/session` says. */
export type Session = {
  readonly id: string;
  readonly authenticated_at: string;
  /** How long what needs a fresh sign-in may still be done without another one. */
  readonly fresh_seconds: number;
  readonly account: { readonly id: string; readonly display_name: string };
  readonly providers: readonly { readonly kind: "code-hosting" | "general"; readonly name: string }[];
};

export async function signOut(): Promise<void> {
  await ask("/auth/logout", { method: "POST" });
  window.location.assign("/sign-in");
}
