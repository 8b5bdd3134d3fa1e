import type { TrustRule } from "@hearth-and-keep/vault-contract";
import { expect, test } from "vitest";
import { accountRules } from "./rule-collection.ts";
import { changeProvider, newDraft, toChanges, toDraft, toNewRule, validateRule } from "./rule-draft.ts";

const rule: TrustRule = {
  id: "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e",
  name: "Deploy",
  provider: "github",
  issuer: "https://token.actions.githubusercontent.com",
  conditions: [
    { claim: "repository_id", values: ["74"] },
    { claim: "environment", values: ["staging", "production"] },
  ],
  scopes: ["secrets:read"],
  vault_ids: null,
  paths: ["/prod/**"],
  lifetime_seconds: 900,
  jwks: null,
  audience: "https://keep.example/accounts/x",
  created_at: "2026-01-31T12:00:00.000Z",
  created_by: "session:x",
  changed_at: null,
};

test("a rule that was opened and not edited sends no change, so that its tokens stay valid", () => {
  expect(toChanges(toDraft(rule), rule)).toEqual({});
  expect(toChanges({ ...toDraft(rule), name: "Release" }, rule)).toEqual({ name: "Release" });
  expect(toChanges({ ...toDraft(rule), paths: "" }, rule)).toEqual({ paths: null });
});

test("a condition with several lines has several values, and an empty one is left out", () => {
  const draft = toDraft(rule);
  const conditions = [...draft.conditions, { claim: " ", values: "" }];
  expect(toNewRule({ ...draft, conditions }).conditions).toEqual(rule.conditions);
});

test("another provider brings its conditions unless some were entered", () => {
  const untouched = changeProvider(newDraft("github", accountRules), "gitlab");
  expect(untouched.conditions.map(({ claim }) => claim)).toEqual(["project_id", "ref_protected"]);
  expect(untouched.issuer).toBe("https://gitlab.com");
  const entered = { ...newDraft("github", accountRules), issuer: "https://ghe.example/_services/token" };
  expect(changeProvider(entered, "gitlab").issuer).toBe("https://ghe.example/_services/token");
});

test("a rule of an organisation starts without vaults, one of an account with all of them", () => {
  expect(newDraft("github", { allowsAllVaults: false }).vaults).toEqual([]);
  expect(newDraft("github", accountRules).vaults).toBe("all");
});

test("an incomplete rule names each field that is missing", () => {
  const draft = { ...newDraft("generic", accountRules), scopes: [], vaults: [], paths: "prod", keys: "[]" };
  expect(Object.keys(validateRule(draft))).toEqual([
    "name",
    "issuer",
    "conditions",
    "scopes",
    "vaults",
    "paths",
    "keys",
  ]);
  expect(validateRule(toDraft(rule))).toEqual({});
});
