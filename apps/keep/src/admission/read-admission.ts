import { FailureError } from "@hearth-and-keep/failures";
import type { ServeConfig } from "../config.ts";
import type { Failure } from "../failures.ts";
import type { Admission } from "./decide-admission.ts";
import { canonicalDomain } from "./email-domain.ts";

type AdmissionConfig = Pick<
  ServeConfig,
  | "admission"
  | "allowedEmailDomains"
  | "allowedCodeHostingOrgs"
  | "allowedGroups"
  | "allowedIdentities"
  | "operators"
>;

/** Throws for rules that would not be applied, and for a mode without any. */
export function readAdmission(config: AdmissionConfig): Admission {
  const { allowedEmailDomains, allowedCodeHostingOrgs, allowedGroups, allowedIdentities } = config;
  const rules = [allowedEmailDomains, allowedCodeHostingOrgs, allowedGroups, allowedIdentities].flat();
  if (config.admission === "rules" && rules.length === 0)
    throw new FailureError<Failure>({ kind: "admission-without-rules" });
  if (config.admission !== "rules" && rules.length > 0)
    throw new FailureError<Failure>({ kind: "admission-rules-unused", admission: config.admission });
  return {
    mode: config.admission,
    emailDomains: new Set(allowedEmailDomains.flatMap((domain) => canonicalDomain(domain) ?? [])),
    organizations: allowedCodeHostingOrgs.map((each) => each.toLowerCase()),
    groups: new Set(allowedGroups),
    identities: new Set(allowedIdentities),
    operators: new Set(config.operators),
  };
}
