import { expect, test } from "vitest";
import { findUnsafeCriteria } from "./check-criteria.ts";
import { safeConditions } from "./test/claim-sets.ts";
import type { ClaimCondition, TokenCriteria } from "./trust-rule.ts";

const issuers = {
  github: "https://token.actions.githubusercontent.com",
  gitlab: "https://gitlab.com",
  kubernetes: "https://cluster.example/api",
  generic: "https://issuer.example/",
} as const;

type Provider = TokenCriteria["provider"];
// The table's keys.
const providers = Object.keys(issuers) as readonly Provider[];

const reasons = (
  provider: Provider,
  conditions: Readonly<Record<string, string | readonly string[]>>,
  issuer: string = issuers[provider],
): string =>
  findUnsafeCriteria({
    provider,
    issuer,
    conditions: Object.entries(conditions).map(([claim, values]) => ({ claim, values: [values].flat() })),
  })
    .map(({ field, reason }) => `${field} ${reason}`)
    .join("; ");

test.each(providers)("a rule for %s with the conditions of its documentation is accepted", (provider) => {
  const criteria = { provider, issuer: issuers[provider], conditions: safeConditions[provider] };
  expect(findUnsafeCriteria(criteria)).toEqual([]);
});

test.each(providers)("a rule for %s without one of its conditions is refused by its name", (provider) => {
  for (const { claim } of safeConditions[provider]) {
    const conditions = safeConditions[provider].filter((condition) => condition.claim !== claim);
    const [error] = findUnsafeCriteria({ provider, issuer: issuers[provider], conditions });
    expect(error?.reason).toContain(`must contain a condition on ${claim}`);
  }
});

const github = { repository_id: "74", repository_owner_id: "65" };
const branch = { ...github, ref: "refs/heads/main", event_name: "push" };

test("a GitHub rule needs an environment, or a ref and an event that is no pull request's", () => {
  expect(reasons("github", branch)).toBe("");
  expect(reasons("github", { ...github, ref: "refs/heads/main" })).toContain("event_name");
  expect(reasons("github", { ...github, event_name: "push" })).toContain("environment");
  expect(reasons("github", { ...branch, event_name: ["push", "pull_request"] })).toContain("closed");
  expect(reasons("github", { ...github, environment: "prod", event_name: "pull_request" })).toBe("");
  const target = { ...github, environment: "prod", event_name: "pull_request_target" };
  expect(reasons("github", target)).toContain("must not allow the event pull_request_target");
});

test("ids that are names, wildcards outside ref, and refs of pull requests are refused", () => {
  expect(reasons("github", { ...branch, repository_id: "octo-org/octo-repo" })).toContain(
    "repository_id, a number",
  );
  expect(reasons("gitlab", { project_id: "group/project", ref_protected: "true" })).toContain(
    "project_id, a number",
  );
  expect(reasons("gitlab", { project_id: "20", ref_protected: ["true", "false"] })).toContain(
    "ref_protected",
  );
  for (const ref of ["refs/heads/*", "refs/heads/release/*", "refs/tags/v*"])
    expect(reasons("github", { ...branch, ref })).toBe("");
  for (const ref of ["*", "refs/*", "refs/pull/*", "refs/heads/*/x", "refs/heads/**"])
    expect([ref, reasons("github", { ...branch, ref })]).not.toEqual([ref, ""]);
  expect(reasons("github", { ...github, environment: "prod*" })).toContain(
    "only a value of ref may end with *",
  );
  for (const sub of ["system:serviceaccount:*:deploy", "system:serviceaccount:ns", "system:node:one"])
    expect([sub, reasons("kubernetes", { sub })]).not.toEqual([sub, ""]);
});

test("claims that are always checked and claims that are named twice are refused", () => {
  expect(reasons("generic", { sub: "a", aud: "b" })).toContain("always checked");
  const twice: readonly ClaimCondition[] = [...safeConditions.generic, ...safeConditions.generic];
  const [error] = findUnsafeCriteria({ provider: "generic", issuer: issuers.generic, conditions: twice });
  expect(error?.reason).toContain("must not be repeated");
});

test("an issuer that is no plain https URL, or belongs to a provider, is refused", () => {
  const { generic: conditions } = safeConditions;
  const check = (issuer: string) => findUnsafeCriteria({ provider: "generic", issuer, conditions });
  for (const issuer of [
    "https://a.example",
    "https://a.example/",
    "https://a.example/b",
    "https://a.example:8443/b/",
  ])
    expect([issuer, ...check(issuer)]).toEqual([issuer]);
  for (const issuer of [
    "http://a.example",
    "https://a.example?x=1",
    "https://a.example/#x",
    "https://user@a.example",
    "https://A.example",
    "https://a.example:443",
    "https://a.example/b/../c",
    "https:a.example",
    "https://token.actions.githubusercontent.com",
    "https://token.actions.githubusercontent.com/octo-org",
    "https://gitlab.com",
  ])
    expect([issuer, ...check(issuer)]).not.toEqual([issuer]);
});
