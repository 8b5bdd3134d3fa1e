import type { NewToken } from "@hearth-and-keep/vault-contract";
import { minimalScopes, type Scope } from "./scopes.ts";
import type { TokenCollection, TokenHolder } from "./token-collection.ts";
import { parseLines, validateAddress, validatePathPattern } from "./validate-restrictions.ts";

/** Form content of a new token. None of it is secret: the server generates the value. */
export type TokenDraft = {
  readonly name: string;
  /** For tokens of an organisation. */
  readonly holder: TokenHolder;
  readonly scopes: readonly Scope[];
  readonly vaults: "all" | readonly string[];
  /** One per line. */
  readonly paths: string;
  readonly addresses: string;
  readonly expiry: Expiry;
  /** For the expiry `date`: the value of a date input. */
  readonly date: string;
};

export type Expiry = "7" | "30" | "90" | "365" | "date" | "never";

/** Starts with the least privilege. */
export const initialDraft: TokenDraft = {
  name: "",
  holder: "me",
  scopes: ["secrets:read"],
  vaults: "all",
  paths: "",
  addresses: "",
  expiry: "90",
  date: "",
};

export type DraftErrors = Partial<
  Record<"name" | "scopes" | "vaults" | "paths" | "addresses" | "date", string>
>;

export function validateDraft(draft: TokenDraft, now = Date.now()): DraftErrors {
  return {
    ...(draft.name.trim() === "" ? { name: "Enter a name that says what uses the token" } : {}),
    ...(draft.scopes.length === 0 ? { scopes: "Select at least one permission" } : {}),
    ...(draft.vaults !== "all" && draft.vaults.length === 0 ? { vaults: "Select at least one vault" } : {}),
    ...firstError("paths", parseLines(draft.paths), validatePathPattern),
    ...firstError("addresses", parseLines(draft.addresses), validateAddress),
    ...(draft.expiry === "date" && !(Date.parse(draft.date) > now)
      ? { date: "Choose a date in the future" }
      : {}),
  };
}

/** Reports only the first invalid line. */
function firstError(
  field: "paths" | "addresses",
  lines: readonly string[],
  validate: (line: string) => string | undefined,
): DraftErrors {
  const [error] = lines.flatMap((line) => validate(line) ?? []);
  return error === undefined ? {} : { [field]: error };
}

export function expirationDate({ expiry, date }: TokenDraft, now = Date.now()): string | null {
  if (expiry === "never") return null;
  const dayMilliseconds = 86_400_000;
  const end = expiry === "date" ? Date.parse(`${date}T00:00:00Z`) : now + Number(expiry) * dayMilliseconds;
  return Number.isNaN(end) ? null : new Date(end).toISOString();
}

/** A new token of an organisation also says whom it is for. */
export function toRequestBody(draft: TokenDraft, { holders }: TokenCollection): object {
  return holders === undefined ? toNewToken(draft) : { ...toNewToken(draft), for: draft.holder };
}

function toNewToken(draft: TokenDraft): NewToken {
  const paths = parseLines(draft.paths);
  const addresses = parseLines(draft.addresses);
  return {
    name: draft.name.trim(),
    scopes: [...minimalScopes(new Set(draft.scopes))],
    vault_ids: draft.vaults === "all" ? null : [...draft.vaults],
    paths: paths.length === 0 ? null : [...paths],
    addresses: addresses.length === 0 ? null : [...addresses],
    expires_at: expirationDate(draft),
  };
}

/** Survives a sign-in, which leaves the page; `restoreDraft` removes it. */
export function storeDraft(collection: TokenCollection, draft: TokenDraft): void {
  window.sessionStorage.setItem(storageKey(collection), JSON.stringify(draft));
}

export function restoreDraft(collection: TokenCollection): TokenDraft | undefined {
  const text = window.sessionStorage.getItem(storageKey(collection));
  window.sessionStorage.removeItem(storageKey(collection));
  // Written by `storeDraft`.
  return text === null ? undefined : (JSON.parse(text) as TokenDraft);
}

function storageKey({ apiPath }: TokenCollection): string {
  return `token-draft ${apiPath}`;
}
