/**
 * @module
 * Admission: which people may sign in. Pure rules over what a provider vouches for at a sign-in. Guarantees that a person
 * whom no rule admits gets neither an account nor a session, that rules never link accounts, and that no rule locks an
 * operator out.
 * Imported by `sign-in/` and `commands/`.
 */
import { emailDomain } from "./email-domain.ts";

/** What rules are about. It is used once, at the sign-in, and not stored. */
export type Evidence = {
  /** As the provider wrote them. */
  readonly verifiedEmails: readonly string[];
  /** Those of the configured organizations and teams of which the person is an active member, as configured. */
  readonly organizations: readonly string[] | "unavailable";
  /** "missing" also when there are so many that the provider does not send them. */
  readonly groups: readonly string[] | "missing";
};

type Identity = { readonly provider: string; readonly subject: string };

export type Admission = {
  readonly mode: "open" | "invitation" | "rules";
  /** In canonical form. */
  readonly emailDomains: ReadonlySet<string>;
  /** `acme`, or `acme/platform` for one of its teams. */
  readonly organizations: readonly string[];
  readonly groups: ReadonlySet<string>;
  /** `code-hosting:12345`: a provider and the subject there. */
  readonly identities: ReadonlySet<string>;
  readonly operators: ReadonlySet<string>;
};

export type AdmissionDecision =
  | "admitted"
  /** Only accounts that exist may sign in. */
  | "invitation-required"
  | "no-rule-admits"
  | "groups-missing"
  /** The provider did not say of which organizations the person is a member. */
  | "organizations-unavailable";

export type AdmissionRefusal = Exclude<AdmissionDecision, "admitted" | "organizations-unavailable">;

/** Any rule admits. */
export function decideAdmission(
  person: Identity,
  evidence: Evidence,
  admission: Admission,
): AdmissionDecision {
  if (admission.mode === "open" || admission.operators.has(formatIdentity(person))) return "admitted";
  if (admission.mode === "invitation") return "invitation-required";
  if (findAdmittingRule(person, evidence, admission) !== undefined) return "admitted";
  const { organizations, groups } = evidence;
  if (organizations === "unavailable") return "organizations-unavailable";
  return groups === "missing" && admission.groups.size > 0 ? "groups-missing" : "no-rule-admits";
}

/**
 * What admits a person by rules: "organization" if nothing but a membership does, apart from the settings, which can be asked
 * again at any time. Undefined when nothing admits them, and in other modes.
 */
export function findAdmittingRule(
  person: Identity,
  { verifiedEmails, organizations, groups }: Evidence,
  admission: Admission,
): "organization" | "other-rule" | undefined {
  if (admission.mode !== "rules") return undefined;
  const isAdmittedOtherwise =
    verifiedEmails.some((email) => admission.emailDomains.has(emailDomain(email) ?? "")) ||
    (groups !== "missing" && groups.some((group) => admission.groups.has(group)));
  if (isAdmittedOtherwise) return "other-rule";
  const isMember =
    organizations !== "unavailable" && organizations.some((each) => admission.organizations.includes(each));
  if (isMember) return "organization";
  return isNamed(person, admission) ? "other-rule" : undefined;
}

/** Whether the settings name the identity itself. */
export function isNamed(person: Identity, { identities, operators }: Admission): boolean {
  const identity = formatIdentity(person);
  return identities.has(identity) || operators.has(identity);
}

/** The form in which settings name an identity. */
export function formatIdentity({ provider, subject }: Record<"provider" | "subject", string>): string {
  return `${provider}:${subject}`;
}
