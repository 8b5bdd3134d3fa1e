import type { ApiToken } from "@hearth-and-keep/vault-contract";

export type Scope = ApiToken["scopes"][number];

export type ScopeWords = {
  readonly scope: Scope;
  readonly title: string;
  readonly sentence: string;
  /** What the server gives along with it. */
  readonly brings: readonly Scope[];
};

export type ScopeGroup = {
  readonly title: string;
  readonly sentence: string;
  readonly scopes: readonly ScopeWords[];
};

/** Least first: what most programs need is at the top. */
export const scopeGroups: readonly ScopeGroup[] = [
  {
    title: "Read",
    sentence: "Looks, and changes nothing.",
    scopes: [
      {
        scope: "secrets:read",
        title: "Read secrets",
        sentence: "Read the values of secrets.",
        brings: ["secrets:list"],
      },
      {
        scope: "secrets:list",
        title: "List secrets",
        sentence: "See names, tags and versions, but no values.",
        brings: ["vaults:read"],
      },
      {
        scope: "vaults:read",
        title: "See vaults",
        sentence: "See which vaults there are, and their settings.",
        brings: [],
      },
      {
        scope: "tokens:read",
        title: "See tokens",
        sentence: "See what tokens there are, never their values.",
        brings: [],
      },
      {
        scope: "audit:read",
        title: "Read the audit log",
        sentence: "See who did what and when, and export it.",
        brings: [],
      },
    ],
  },
  {
    title: "Change",
    sentence: "Changes what can be changed back.",
    scopes: [
      {
        scope: "secrets:write",
        title: "Write secrets",
        sentence: "Make secrets, new versions and folders. It does not read values.",
        brings: ["secrets:list"],
      },
      {
        scope: "secrets:delete",
        title: "Delete secrets",
        sentence: "Delete secrets. They can be restored for 30 days.",
        brings: ["secrets:list"],
      },
      {
        scope: "vaults:write",
        title: "Change vaults",
        sentence: "Make vaults, rename them and change their settings.",
        brings: ["vaults:read"],
      },
    ],
  },
  {
    title: "Manage",
    sentence: "For few programs. Each of these can do lasting harm in the wrong hands.",
    scopes: [
      {
        scope: "tokens:write",
        title: "Make tokens",
        sentence: "Make, rotate and revoke tokens, none that can do more than this one.",
        brings: ["tokens:read"],
      },
      {
        scope: "vaults:delete",
        title: "Delete vaults",
        sentence: "Delete a vault with everything in it. It can be restored for 30 days.",
        brings: ["vaults:read"],
      },
      {
        scope: "secrets:destroy",
        title: "Destroy for good",
        sentence: "Destroy versions, secrets and vaults at once. Nobody can bring them back.",
        brings: ["secrets:list"],
      },
      {
        scope: "keys:rotate",
        title: "Rotate keys",
        sentence: "Give a vault a new key and seal everything in it anew.",
        brings: ["vaults:read"],
      },
    ],
  },
];

const all = new Map(scopeGroups.flatMap(({ scopes }) => scopes).map((words) => [words.scope, words]));

export function titleOf(scope: Scope): string {
  return all.get(scope)?.title ?? scope;
}

/** Which of the chosen brings a scope along; undefined when none does. */
export function broughtBy(scope: Scope, chosen: ReadonlySet<Scope>): Scope | undefined {
  return [...chosen].find((other) => other !== scope && brings(other, scope));
}

/** The chosen ones without those that come along anyway. */
export function least(chosen: ReadonlySet<Scope>): readonly Scope[] {
  return [...all.keys()].filter((scope) => chosen.has(scope) && broughtBy(scope, chosen) === undefined);
}

function brings(scope: Scope, other: Scope): boolean {
  return all.get(scope)?.brings.some((next) => next === other || brings(next, other)) ?? false;
}
