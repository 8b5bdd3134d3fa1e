import type { TrustRule } from "@hearth-and-keep/vault-contract";

export type WorkloadProvider = TrustRule["provider"];

export type ProviderTemplate = {
  readonly label: string;
  /** Empty where every installation has its own. */
  readonly issuer: string;
  readonly conditions: readonly { readonly claim: string; readonly value: string }[];
  readonly hint: string;
  /** Prints what the hint is about. */
  readonly command?: string;
};

/** What a rule starts with: the conditions that Keep requires for the provider. */
export const providerTemplates: Readonly<Record<WorkloadProvider, ProviderTemplate>> = {
  github: {
    label: "GitHub Actions",
    issuer: "https://token.actions.githubusercontent.com",
    conditions: [
      { claim: "repository_id", value: "" },
      { claim: "repository_owner_id", value: "" },
      { claim: "environment", value: "" },
    ],
    hint: "An environment is as safe as its protection rules. Ids are numbers:",
    command: "gh api repos/OWNER/NAME --jq '.id, .owner.id'",
  },
  gitlab: {
    label: "GitLab CI",
    issuer: "https://gitlab.com",
    conditions: [
      { claim: "project_id", value: "" },
      { claim: "ref_protected", value: "true" },
    ],
    hint: "The project id is a number, shown on the project's page.",
  },
  kubernetes: {
    label: "Kubernetes",
    issuer: "",
    conditions: [{ claim: "sub", value: "system:serviceaccount:NAMESPACE:NAME" }],
    hint: "The issuer of a cluster:",
    command: "kubectl get --raw /.well-known/openid-configuration | jq -r .issuer",
  },
  generic: {
    label: "Another issuer",
    issuer: "",
    conditions: [{ claim: "sub", value: "" }],
    hint: "Any issuer with OpenID Connect discovery can be used.",
  },
};

// Object.keys is typed as string[]; these are the keys of the table.
export const providers = Object.keys(providerTemplates) as readonly WorkloadProvider[];
