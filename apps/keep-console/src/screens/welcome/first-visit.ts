import type { Account } from "@hearth-and-keep/vault-contract";
import { request } from "../../vault-api/api-client.ts";

/** Set when this browser has offered the first steps. */
const storageKey = "first-steps";

export function wereFirstStepsOffered(): boolean {
  try {
    return window.localStorage.getItem(storageKey) !== null;
  } catch {
    // Without storage they would be offered on every visit.
    return true;
  }
}

export function recordFirstStepsOffered(): void {
  try {
    window.localStorage.setItem(storageKey, "offered");
  } catch {
    // Storage is full or blocked; then only the account state decides.
  }
}

export function clearFirstStepsOffered(): void {
  try {
    window.localStorage.removeItem(storageKey);
  } catch {
    // Nothing was stored.
  }
}

/**
 * Whether this is the account's first sign-in and it has no secrets or tokens yet. The flag alone is not enough: signing
 * out clears the browser's storage.
 */
export async function isNewAccount(): Promise<boolean> {
  try {
    const { identities, holds } = (await request<Account>("/api/account")).body;
    // Equal when the account is created; every later sign-in updates only `last_sign_in_at`.
    const isFirstSignIn = identities.every((identity) => identity.last_sign_in_at === identity.created_at);
    return isFirstSignIn && holds.secrets === 0 && holds.tokens === 0;
  } catch {
    return false;
  }
}
