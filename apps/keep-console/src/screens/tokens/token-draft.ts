import type { NewToken } from "@hearth-and-keep/vault-contract";
import { addressMistake, linesOf, patternMistake } from "./limits.ts";
import { least, type Scope } from "./scopes.ts";

/** What stands in the form for a new token. None of it is secret: the value is made by the server. */
export type TokenDraft = {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly vaults: "all" | readonly string[];
  /** One in a line. */
  readonly paths: string;
  readonly addresses: string;
  readonly expiry: Expiry;
  /** For the expiry `date`, as a date field writes it. */
  readonly date: string;
};

export type Expiry = "7" | "30" | "90" | "365" | "date" | "never";

/** Least privilege is where one starts. */
export const firstDraft: TokenDraft = {
  name: "",
  scopes: ["secrets:read"],
  vaults: "all",
  paths: "",
  addresses: "",
  expiry: "90",
  date: "",
};

export type DraftMistakes = Partial<
  Record<"name" | "scopes" | "vaults" | "paths" | "addresses" | "date", string>
>;

export function mistakesIn(draft: TokenDraft, now = Date.now()): DraftMistakes {
  return {
    ...(draft.name.trim() === "" ? { name: "Give it a name that says what uses it" } : {}),
    ...(draft.scopes.length === 0 ? { scopes: "Choose at least one thing that it may do" } : {}),
    ...(draft.vaults !== "all" && draft.vaults.length === 0
      ? { vaults: "Choose at least one vault, or all vaults" }
      : {}),
    ...found("paths", linesOf(draft.paths), patternMistake),
    ...found("addresses", linesOf(draft.addresses), addressMistake),
    ...(draft.expiry === "date" && !(Date.parse(draft.date) > now)
      ? { date: "Choose a day that is still to come" }
      : {}),
  };
}

/** The first one is enough to know what to do. */
function found(
  place: "paths" | "addresses",
  lines: readonly string[],
  mistakeOf: (line: string) => string | undefined,
): DraftMistakes {
  const [mistake] = lines.flatMap((line) => mistakeOf(line) ?? []);
  return mistake === undefined ? {} : { [place]: mistake };
}

export function expiryOf({ expiry, date }: TokenDraft, now = Date.now()): string | null {
  if (expiry === "never") return null;
  const days = 86_400_000;
  const end = expiry === "date" ? Date.parse(`${date}T00:00:00Z`) : now + Number(expiry) * days;
  return Number.isNaN(end) ? null : new Date(end).toISOString();
}

export function requestOf(draft: TokenDraft): NewToken {
  const paths = linesOf(draft.paths);
  const addresses = linesOf(draft.addresses);
  return {
    name: draft.name.trim(),
    scopes: [...least(new Set(draft.scopes))],
    vault_ids: draft.vaults === "all" ? null : [...draft.vaults],
    paths: paths.length === 0 ? null : [...paths],
    addresses: addresses.length === 0 ? null : [...addresses],
    expires_at: expiryOf(draft),
  };
}

const place = "token-draft";

/** Over a sign-in, which leaves the page; taken once. */
export function keepDraft(draft: TokenDraft): void {
  window.sessionStorage.setItem(place, JSON.stringify(draft));
}

export function takeDraft(): TokenDraft | undefined {
  const text = window.sessionStorage.getItem(place);
  window.sessionStorage.removeItem(place);
  // Written by `keepDraft` of this very page.
  return text === null ? undefined : (JSON.parse(text) as TokenDraft);
}
