import type { LogPlace } from "./audit-record.ts";

export type EventGroup = {
  readonly id: string;
  readonly title: string;
  /** Empty for everything. */
  readonly types: readonly string[];
};

const everything: EventGroup = { id: "all", title: "Everything", types: [] };

const inVaults: readonly EventGroup[] = [
  everything,
  { id: "reads", title: "Reads of values", types: ["value-read", "values-read", "values-exported"] },
  {
    id: "changes",
    title: "Changes of secrets",
    types: [
      "secret-written",
      "secret-changed",
      "secret-deleted",
      "secret-restored",
      "secret-purged",
      "version-restored",
      "version-destroyed",
      "values-imported",
      "folder-created",
      "folder-moved",
      "folder-deleted",
    ],
  },
  {
    id: "vault",
    title: "The vault and its keys",
    types: [
      "vault-created",
      "vault-changed",
      "vault-deleted",
      "vault-restored",
      "data-key-rotated",
      "data-key-destroyed",
    ],
  },
  { id: "alarms", title: "Broken records", types: ["integrity-broken"] },
];

const inAccount: readonly EventGroup[] = [
  everything,
  { id: "alarms", title: "Denied requests", types: ["denied"] },
  {
    id: "tokens",
    title: "Tokens",
    types: ["token-created", "token-changed", "token-rotated", "token-revoked"],
  },
  {
    id: "sign-ins",
    title: "Sign-ins and the account",
    types: ["signed-in", "session-ended", "identity-linked", "identity-unlinked", "account-created"],
  },
  {
    id: "vault",
    title: "Vaults",
    types: ["vault-created", "vault-deleted", "vault-restored", "vault-purged"],
  },
];

/** What can be in a log at all. */
export function groupsOf(place: LogPlace): readonly EventGroup[] {
  return place === "account" ? inAccount : inVaults;
}

export function groupOf(place: LogPlace, id: string | null): EventGroup {
  return groupsOf(place).find((group) => group.id === id) ?? everything;
}
