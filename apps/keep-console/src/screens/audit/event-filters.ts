import type { LogId } from "./audit-record.ts";

export type EventFilter = {
  readonly id: string;
  readonly title: string;
  /** Empty for all types. */
  readonly types: readonly string[];
};

const allEvents: EventFilter = { id: "all", title: "All events", types: [] };

const vaultFilters: readonly EventFilter[] = [
  allEvents,
  {
    id: "reads",
    title: "Value reads",
    types: ["value-read", "values-read", "values-exported", "folders-compared"],
  },
  {
    id: "changes",
    title: "Secret changes",
    types: [
      "secret-written",
      "secret-changed",
      "secret-deleted",
      "secret-restored",
      "secret-purged",
      "version-restored",
      "version-destroyed",
      "values-imported",
      "values-promoted",
      "folder-created",
      "folder-moved",
      "folder-deleted",
    ],
  },
  {
    id: "vault",
    title: "Vault and keys",
    types: [
      "vault-created",
      "vault-changed",
      "vault-deleted",
      "vault-restored",
      "data-key-rotated",
      "data-key-destroyed",
      "chain-carried-over",
    ],
  },
  { id: "alerts", title: "Integrity failures", types: ["integrity-broken"] },
];

const accountFilters: readonly EventFilter[] = [
  allEvents,
  { id: "alerts", title: "Denied requests", types: ["denied", "token-exchange-refused"] },
  {
    id: "tokens",
    title: "Tokens",
    types: [
      "token-created",
      "token-changed",
      "token-rotated",
      "token-revoked",
      "trust-rule-created",
      "trust-rule-changed",
      "trust-rule-deleted",
    ],
  },
  {
    id: "sign-ins",
    title: "Sign-ins and account",
    types: [
      "signed-in",
      "session-ended",
      "identity-linked",
      "identity-unlinked",
      "account-created",
      "account-suspended",
      "account-resumed",
      "account-paused",
      "account-unpaused",
      "account-managed",
      "operator-added",
      "operator-removed",
      "sign-in-refused",
      "organisation-created",
      "organisation-renamed",
      "member-added",
      "member-changed",
      "member-removed",
      "invitation-created",
      "invitation-accepted",
      "invitation-revoked",
      "chain-carried-over",
    ],
  },
  {
    id: "vault",
    title: "Vaults",
    types: ["vault-created", "vault-deleted", "vault-restored", "vault-purged"],
  },
];

export function filtersFor(logId: LogId): readonly EventFilter[] {
  return logId === "account" ? accountFilters : vaultFilters;
}

export function findFilter(logId: LogId, id: string | null): EventFilter {
  return filtersFor(logId).find((filter) => filter.id === id) ?? allEvents;
}
