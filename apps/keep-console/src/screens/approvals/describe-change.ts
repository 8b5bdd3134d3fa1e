import type { Change, ChangeSummary, ReviewedOperation, VaultDetail } from "@hearth-and-keep/vault-contract";
import type { ApiError } from "../../vault-api/api-client.ts";
import type { Access } from "../secrets/vault-access.ts";
import type { Proposal } from "./proposal.ts";

type Settings = Omit<Proposal, "operations">;
export type CurrentSettings = Pick<
  VaultDetail,
  "most_versions" | "when_versions_full" | "environments" | "base" | "protected_paths"
>;

/** One line for each part of what is about to be proposed, without values. */
export function describeProposal(
  { operations = [], ...settings }: Proposal,
  current?: CurrentSettings,
): readonly string[] {
  const lines = operations.map((operation) => {
    if (operation.op === "put")
      return `${operation.if_revision === 0 ? "Create" : "Write a new value of"} ${operation.path}`;
    return operation.op === "move" ? `Move ${operation.path} to ${operation.to}` : `Delete ${operation.path}`;
  });
  return [...lines, ...describeSettings(settings, current)];
}

/** One line for each setting, compared with the current ones where they are known. */
export function describeSettings(settings: Settings, current?: CurrentSettings): readonly string[] {
  const { protected_paths, environments, base, most_versions, when_versions_full } = settings;
  return [
    ...(protected_paths === undefined ? [] : describeProtection(protected_paths, current?.protected_paths)),
    ...(environments === undefined
      ? []
      : [compare("Environments", formatList(environments), current && formatList(current.environments))]),
    ...(base === undefined
      ? []
      : [compare("Base folder", base ?? "none", current && (current.base ?? "none"))]),
    ...(most_versions === undefined
      ? []
      : [compare("Maximum versions per secret", String(most_versions), current?.most_versions.toString())]),
    ...(when_versions_full === undefined ? [] : [fullVersionsText[when_versions_full]]),
    ...(settings.delete_vault === true ? ["Delete the vault with all its secrets"] : []),
    ...(settings.restore_vault === true ? ["Restore the deleted vault"] : []),
  ];
}

const fullVersionsText = {
  "destroy-oldest": "At the maximum number of versions, a new version destroys the oldest one",
  refuse: "At the maximum number of versions, new versions are refused",
} as const;

function describeProtection(next: readonly string[], current: readonly string[] | undefined): string[] {
  if (current === undefined) return [`Protected paths: ${formatList(next)}`];
  const removed = current.filter((pattern) => !next.includes(pattern));
  const added = next.filter((pattern) => !current.includes(pattern));
  const lines = [
    ...removed.map((pattern) => `Stop protecting ${pattern}`),
    ...added.map((pattern) => `Protect ${pattern}`),
  ];
  return lines.length === 0 ? [`Protected paths: ${formatList(next)} (as now)`] : lines;
}

function compare(label: string, next: string, current: string | undefined): string {
  return `${label}: ${next}${current === undefined ? "" : current === next ? " (as now)" : ` (now ${current})`}`;
}

function formatList(items: readonly string[]): string {
  return items.length === 0 ? "none" : items.join(", ");
}

export function operationLabel({ op, revision }: ReviewedOperation): string {
  if (op === "move") return "Move";
  if (op === "delete") return "Delete";
  return revision === 0 ? "New secret" : "New value";
}

/** A change that only changes settings, or the whole vault, has no operations. */
export function countOperations({ operation_count: count }: Pick<ChangeSummary, "operation_count">): string {
  if (count === 0) return "Settings of the vault";
  return count === 1 ? "1 operation" : `${count} operations`;
}

export const stateLabels: Readonly<Record<ChangeSummary["state"], string>> = {
  pending: "Pending",
  approved: "Approved",
  rejected: "Rejected",
  withdrawn: "Withdrawn",
  expired: "Expired",
};

/** Whether the person may make every part of the change, which approving and rejecting require. */
export function mayDecide(change: Change, { allows }: Pick<Access, "allows">): boolean {
  const { operations = [], ...rest } = change;
  const allowsOperations = operations.every(({ op, path, to }) => {
    const scope = op === "delete" ? "secrets:delete" : "secrets:write";
    return allows(scope, path) && (to === undefined || allows(scope, to));
  });
  if (change.delete_vault === true) return allows("vaults:delete");
  return allowsOperations && (describeSettings(rest).length === 0 || allows("vaults:write"));
}

export type Refusal = { readonly text: string; readonly nextStep?: string };

const forbidden: Refusal = {
  text: "You are not allowed to make this change yourself, so you cannot approve or reject it.",
  nextStep: "Ask a person who may make it.",
};

const refusals: Readonly<Partial<Record<ApiError["code"], Refusal>>> = {
  second_person_required: {
    text: "You cannot approve this change: you proposed it, or you have had the token that proposed it.",
    nextStep: "Ask another person who may make it.",
  },
  role_required: forbidden,
  insufficient_scope: forbidden,
  out_of_reach: forbidden,
  not_found: {
    text: "This change no longer exists, or you may no longer see it.",
    nextStep: "Go back to the list of changes.",
  },
};

/** Why the server refused a decision, and what to do. A conflict has many reasons, which the server's text names. */
export function describeRefusal({ code, message }: Pick<ApiError, "code" | "message">): Refusal {
  return refusals[code] ?? { text: message };
}
