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
    types: ["value-read", "value-used", "values-read", "values-exported", "folders-compared", "change-read"],
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
    id: "proposals",
    title: "Proposed changes",
    types: ["change-proposed", "change-approved", "change-rejected", "change-withdrawn", "change-expired"],
  },
  {
    id: "vault",
    title: "Vault and keys",
    types: [
      "vault-created",
      "vault-changed",
      "vault-deleted",
      "vault-restored",
      "vault-transferred-out",
      "vault-transferred-in",
      "data-key-rotated",
      "data-key-destroyed",
      "chain-carried-over",
    ],
  },
  { id: "access", title: "Access", types: ["grant-added", "grant-removed"] },
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
      "command-line-approved",
      "command-line-denied",
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
      "team-created",
      "team-renamed",
      "team-deleted",
      "team-group-changed",
      "team-groups-skipped",
      "team-member-added",
      "team-member-removed",
      "invitation-created",
      "invitation-accepted",
      "invitation-revoked",
      "chain-carried-over",
    ],
  },
  {
    id: "vault",
    title: "Vaults",
    types: [
      "vault-created",
      "vault-deleted",
      "vault-restored",
      "vault-purged",
      "vault-transferred-out",
      "vault-transferred-in",
    ],
  },
];

export function filtersFor(logId: LogId): readonly EventFilter[] {
  return logId === "account" ? accountFilters : vaultFilters;
}

export function findFilter(logId: LogId, id: string | null): EventFilter {
  return filtersFor(logId).find((filter) => filter.id === id) ?? allEvents;
}
