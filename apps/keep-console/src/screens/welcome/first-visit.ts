import type { Account } from "@hearth-and-keep/vault-contract";
import { ask } from "../../vault-api/api-client.ts";

/** A plain flag: the first steps were offered in this browser. */
const flag = "first-steps";

export function wereFirstStepsOffered(): boolean {
  try {
    return window.localStorage.getItem(flag) !== null;
  } catch {
    // A browser that keeps nothing would offer them every time.
    return true;
  }
}

export function rememberFirstSteps(): void {
  try {
    window.localStorage.setItem(flag, "offered");
  } catch {
    // Full or forbidden; then the account decides alone.
  }
}

export function forgetFirstSteps(): void {
  try {
    window.localStorage.removeItem(flag);
  } catch {
    // Nothing was kept.
  }
}

/**
 * Whether this is the sign-in that made the account, and nothing was done with it yet. Signing out empties the
 * browser's storage, so the flag alone would offer them again.
 */
export async function isNewPerson(): Promise<boolean> {
  try {
    const { identities, holds } = (await ask<Account>("/api/account")).body;
    // Both moments are written when the account is made, and one of them at every later sign-in.
    const isFirstTime = identities.every((identity) => identity.last_sign_in_at === identity.created_at);
    return isFirstTime && holds.secrets === 0 && holds.tokens === 0;
  } catch {
    return false;
  }
}
