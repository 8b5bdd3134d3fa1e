import type { Evidence } from "../admission/decide-admission.ts";
import type { StatedGroups } from "../organisations/teams/fill-teams.ts";

/** The payload of a verified ID token. */
type Claims = Readonly<Record<string, unknown>>;

/** For rules, which only admit: a list, or one group as text. A provider with too many to list refers to them, which counts as none. */
export function readEvidenceGroups(claims: Claims, name: string): Evidence["groups"] {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : "missing";
}

/**
 * For teams, which people also leave: a claim that Keep does not understand, or that stands for groups which are elsewhere, must
 * not look like a list without them. Without the claim a person is in no group, because some providers leave it out then.
 */
export function readTeamGroups(claims: Claims, name: string): StatedGroups {
  if (isElsewhere(claims, name)) return "too-many-groups";
  if (!Object.hasOwn(claims, name)) return [];
  const value = claims[name];
  if (typeof value === "string") return [value];
  const isList = Array.isArray(value) && value.every((each) => typeof each === "string");
  return isList ? value : "unreadable-groups";
}

/** OpenID Connect Core 5.6.2: `_claim_names` refers to claims that are elsewhere. Entra also says `hasgroups` instead. */
function isElsewhere(claims: Claims, name: string): boolean {
  const names: unknown = Object.hasOwn(claims, "_claim_names") ? claims["_claim_names"] : undefined;
  if (typeof names === "object" && names !== null && Object.hasOwn(names, name)) return true;
  const says = Object.hasOwn(claims, "hasgroups") ? claims["hasgroups"] : undefined;
  return (says === true || says === "true") && !Object.hasOwn(claims, name);
}
