import type { Grant } from "./grant.ts";
import type { Role } from "./roles.ts";

/** What a member of an organisation may do there now: by the role, and by grants to the person and their teams. */
export type MemberAccess = { readonly role: Role; readonly grant: Grant };

/** Undefined for whoever is not a member. */
export type FindAccess = (member: {
  /** Of the organisation. */
  readonly accountId: string;
  readonly personId: string;
}) => Promise<MemberAccess | undefined>;
