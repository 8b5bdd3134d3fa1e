import { expect, test } from "vitest";
import {
  type Admission,
  decideAdmission,
  type Evidence,
  findAdmittingRule,
  isNamed,
} from "./decide-admission.ts";
import { canonicalDomain, emailDomain } from "./email-domain.ts";

const person = { provider: "code-hosting", subject: "12345" } as const;
const nothing: Evidence = { verifiedEmails: [], organizations: [], groups: [] };
const rules: Admission = {
  mode: "rules",
  emailDomains: new Set(["example.com", "xn--exmple-cua.com"]),
  organizations: ["acme", "other/platform"],
  groups: new Set(["engineering"]),
  identities: new Set(["code-hosting:777"]),
  operators: new Set(["general:1"]),
};

const find = (evidence: Partial<Evidence>, admission: Admission = rules) =>
  findAdmittingRule(person, { ...nothing, ...evidence }, admission);
const decide = (evidence: Partial<Evidence>, admission: Admission = rules) =>
  decideAdmission(person, { ...nothing, ...evidence }, admission);

test("any rule admits, and without one nobody is admitted", () => {
  expect(decide({ verifiedEmails: ["a@example.com"] })).toBe("admitted");
  expect(decide({ organizations: ["acme"] })).toBe("admitted");
  expect(decide({ groups: ["sales", "engineering"] })).toBe("admitted");
  expect(decideAdmission({ ...person, subject: "777" }, nothing, rules)).toBe("admitted");
  expect(decide({})).toBe("no-rule-admits");
});

test("an identity is that of one provider", () => {
  expect(decideAdmission({ provider: "general", subject: "777" }, nothing, rules)).toBe("no-rule-admits");
  expect(decideAdmission({ provider: "general", subject: "1" }, nothing, rules)).toBe("admitted");
  expect(decideAdmission({ provider: "code-hosting", subject: "1" }, nothing, rules)).toBe("no-rule-admits");
});

test("without rules all are admitted, and with invitations only named operators", () => {
  expect(decide({}, { ...rules, mode: "open" })).toBe("admitted");
  const invitation = { ...rules, mode: "invitation" } as const;
  expect(decide({ verifiedEmails: ["a@example.com"] }, invitation)).toBe("invitation-required");
  expect(decideAdmission({ provider: "general", subject: "1" }, nothing, invitation)).toBe("admitted");
});

test("a provider that does not answer, or sends no groups, refuses only whom no other rule admits", () => {
  expect(decide({ organizations: "unavailable" })).toBe("organizations-unavailable");
  expect(decide({ organizations: "unavailable", verifiedEmails: ["a@example.com"] })).toBe("admitted");
  expect(decide({ groups: "missing" })).toBe("groups-missing");
  expect(decide({ groups: "missing", organizations: ["acme"] })).toBe("admitted");
  expect(decide({ groups: "missing" }, { ...rules, groups: new Set() })).toBe("no-rule-admits");
});

test("a membership admits alone only if no other rule does, and no rule is applied in other modes", () => {
  expect(find({ organizations: ["acme"] })).toBe("organization");
  expect(find({ organizations: ["acme"], groups: ["engineering"] })).toBe("other-rule");
  expect(find({ organizations: ["acme"], verifiedEmails: ["a@example.com"] })).toBe("other-rule");
  const named = { ...person, subject: "777" };
  expect(findAdmittingRule(named, nothing, rules)).toBe("other-rule");
  expect(findAdmittingRule(named, { ...nothing, organizations: ["acme"] }, rules)).toBe("organization");
  expect([named, person].map((each) => isNamed(each, rules))).toEqual([true, false]);
  expect(find({})).toBeUndefined();
  for (const mode of ["open", "invitation"] as const)
    expect(find({ organizations: ["acme"] }, { ...rules, mode })).toBeUndefined();
});

test("names of groups, organizations and teams are compared as a whole", () => {
  for (const group of ["Engineering", "engineering2", "engineer", " engineering", ""])
    expect(decide({ groups: [group] })).toBe("no-rule-admits");
  for (const organization of ["acme-labs", "acm", "acme/platform", "other", "other/platform-two"])
    expect(decide({ organizations: [organization] })).toBe("no-rule-admits");
  expect(decide({ organizations: ["other/platform"] })).toBe("admitted");
});

test.each(["a@example.com", "A@EXAMPLE.com", "a+b@example.com", "a@xn--exmple-cua.com", "a@exämple.com"])(
  "the address %s is of an allowed domain",
  (email) => {
    expect(decide({ verifiedEmails: ["a@elsewhere.test", email] })).toBe("admitted");
  },
);

test.each([
  "a@sub.example.com",
  "a@example.com.",
  "a@example.com.evil.test",
  "a@notexample.com",
  "a@example.co",
  "a@evil.test@example.com",
  '"a@example.com"@evil.test',
  "example.com",
  "@example.com",
  "a@",
  "a@example.com\0.evil.test",
  "a@example.com ",
  // Full-width letters, a Cyrillic letter, a zero-width space and decomposed letters.
  "a@ｅxample.com",
  "a@еxample.com",
  "a@exam\u200Bple.com",
  "a@exa\u0308mple.com",
  "a@EXÄMPLE.com",
])("the address %j is not of an allowed domain", (email) => {
  expect(decide({ verifiedEmails: [email] })).toBe("no-rule-admits");
});

test("a Kelvin sign is not a K, and a domain is stored in its ASCII form", () => {
  expect(emailDomain("a@\u212Aeep.example")).toBeUndefined();
  expect(emailDomain("a@Keep.example")).toBe("keep.example");
  expect(canonicalDomain("exämple.com")).toBe("xn--exmple-cua.com");
  for (const text of ["example.com.", "@example.com", "*.example.com", "example", "a b.com", ""])
    expect(canonicalDomain(text)).toBeUndefined();
});
