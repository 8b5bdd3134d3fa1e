import type { NewTrustRule, TrustRule, TrustRuleChanges } from "@hearth-and-keep/vault-contract";
import { validatePathPatterns } from "../tokens/path-patterns-field.tsx";
import { minimalScopes, type Scope } from "../tokens/scopes.ts";
import { parseLines } from "../tokens/validate-restrictions.ts";
import { providerTemplates, type WorkloadProvider } from "./providers.ts";
import type { RuleCollection } from "./rule-collection.ts";

export type ConditionDraft = {
  readonly claim: string;
  /** One value per line. */
  readonly values: string;
};

/** Form content of a trust rule. None of it is secret. */
export type RuleDraft = {
  readonly name: string;
  readonly provider: WorkloadProvider;
  readonly issuer: string;
  readonly conditions: readonly ConditionDraft[];
  readonly scopes: readonly Scope[];
  readonly vaults: "all" | readonly string[];
  /** One pattern per line. */
  readonly paths: string;
  readonly lifetimeSeconds: string;
  /** A JSON Web Key Set; empty to get the keys from the issuer. */
  readonly keys: string;
};

export type RuleErrors = Partial<
  Record<"name" | "issuer" | "conditions" | "scopes" | "vaults" | "paths" | "keys", string>
>;

export function newDraft(
  provider: WorkloadProvider,
  { allowsAllVaults }: Pick<RuleCollection, "allowsAllVaults">,
): RuleDraft {
  return {
    name: "",
    provider,
    ...templateOf(provider),
    scopes: ["secrets:read"],
    vaults: allowsAllVaults ? "all" : [],
    paths: "",
    lifetimeSeconds: "900",
    keys: "",
  };
}

function templateOf(provider: WorkloadProvider): Pick<RuleDraft, "issuer" | "conditions"> {
  const { issuer, conditions } = providerTemplates[provider];
  return { issuer, conditions: conditions.map(({ claim, value }) => ({ claim, values: value })) };
}

/** Replaces issuer and conditions by those of the provider, unless something was entered. */
export function changeProvider(draft: RuleDraft, provider: WorkloadProvider): RuleDraft {
  const { issuer, conditions } = draft;
  const isUntouched = JSON.stringify({ issuer, conditions }) === JSON.stringify(templateOf(draft.provider));
  return { ...draft, provider, ...(isUntouched ? templateOf(provider) : {}) };
}

export function toDraft(rule: TrustRule): RuleDraft {
  return {
    name: rule.name,
    provider: rule.provider,
    issuer: rule.issuer,
    conditions: rule.conditions.map(({ claim, values }) => ({ claim, values: values.join("\n") })),
    scopes: rule.scopes,
    vaults: rule.vault_ids ?? "all",
    paths: (rule.paths ?? []).join("\n"),
    lifetimeSeconds: String(rule.lifetime_seconds),
    keys: rule.jwks === null ? "" : JSON.stringify(rule.jwks, undefined, 2),
  };
}

export function validateRule(draft: RuleDraft): RuleErrors {
  const pathError = validatePathPatterns(draft.paths);
  const conditions = draft.conditions.filter((condition) => !isEmpty(condition));
  const isIncomplete = conditions.some(
    ({ claim, values }) => claim.trim() === "" || parseLines(values).length === 0,
  );
  return {
    ...(draft.name.trim() === "" ? { name: "Enter a name that says what uses the rule" } : {}),
    ...(draft.issuer.startsWith("https://") ? {} : { issuer: "Enter the issuer's https URL" }),
    ...(conditions.length === 0 || isIncomplete
      ? { conditions: "Enter a claim and at least one value for each condition" }
      : {}),
    ...(draft.scopes.length === 0 ? { scopes: "Select at least one permission" } : {}),
    ...(draft.vaults !== "all" && draft.vaults.length === 0 ? { vaults: "Select at least one vault" } : {}),
    ...(pathError === undefined ? {} : { paths: pathError }),
    ...(parseKeys(draft.keys) === undefined ? { keys: 'Enter a JSON Web Key Set, {"keys": […]}' } : {}),
  };
}

function isEmpty({ claim, values }: ConditionDraft): boolean {
  return claim.trim() === "" && values.trim() === "";
}

export function toNewRule(draft: RuleDraft): NewTrustRule {
  const paths = parseLines(draft.paths);
  return {
    name: draft.name.trim(),
    provider: draft.provider,
    issuer: draft.issuer.trim(),
    conditions: draft.conditions
      .filter((condition) => !isEmpty(condition))
      .map(({ claim, values }) => ({ claim: claim.trim(), values: [...parseLines(values)] })),
    scopes: [...minimalScopes(new Set(draft.scopes))],
    vault_ids: draft.vaults === "all" ? null : [...draft.vaults],
    paths: paths.length === 0 ? null : [...paths],
    lifetime_seconds: Number(draft.lifetimeSeconds),
    jwks: parseKeys(draft.keys) ?? null,
  };
}

/** Only what differs: every change but that of the name revokes the rule's tokens. */
export function toChanges(draft: RuleDraft, rule: TrustRule): TrustRuleChanges {
  const before = new Map(Object.entries(toNewRule(toDraft(rule))));
  const changed = Object.entries(toNewRule(draft)).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(before.get(field)),
  );
  return Object.fromEntries(changed);
}

/** Null for none; undefined when the text is not a key set. */
function parseKeys(text: string): NewTrustRule["jwks"] | undefined {
  if (text.trim() === "") return null;
  try {
    const parsed: unknown = JSON.parse(text);
    const isKeySet = typeof parsed === "object" && parsed !== null && Object.hasOwn(parsed, "keys");
    // The server checks every key.
    return isKeySet ? (parsed as NewTrustRule["jwks"]) : undefined;
  } catch {
    return undefined;
  }
}

/** Survives a sign-in, which leaves the page; `restoreDraft` removes it. */
export function storeDraft(
  collection: RuleCollection,
  { rule, draft }: { readonly rule: TrustRule | undefined; readonly draft: RuleDraft },
): void {
  window.sessionStorage.setItem(storageKey(collection, rule), JSON.stringify(draft));
}

export function restoreDraft(collection: RuleCollection, rule: TrustRule | undefined): RuleDraft | undefined {
  const key = storageKey(collection, rule);
  const text = window.sessionStorage.getItem(key);
  window.sessionStorage.removeItem(key);
  // Written by `storeDraft`.
  return text === null ? undefined : (JSON.parse(text) as RuleDraft);
}

function storageKey({ apiPath }: RuleCollection, rule: TrustRule | undefined): string {
  return `trust-rule-draft ${apiPath} ${rule?.id ?? "new"}`;
}
