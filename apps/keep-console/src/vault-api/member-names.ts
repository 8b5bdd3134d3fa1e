import type { Member } from "@hearth-and-keep/vault-contract";
import { useMemo } from "react";
import { useQuery } from "./use-query.ts";

export function organisationPath(id: string): string {
  return `/api/organisations/${encodeURIComponent(id)}`;
}

export function membersPath(organisationId: string): string {
  return `${organisationPath(organisationId)}/members`;
}

type MemberPage = { readonly items: readonly Member[] };

/** Names by account id, of the first 200 members. An undefined id loads nothing. */
export function useMemberNames(organisationId: string | undefined): ReadonlyMap<string, string> {
  const path = organisationId === undefined ? undefined : `${membersPath(organisationId)}?limit=200`;
  const page = useQuery<MemberPage>(path);
  const items = page.state === "loaded" ? page.body.items : undefined;
  return useMemo(
    () => new Map((items ?? []).map((member) => [member.person_id, memberName(member)])),
    [items],
  );
}

export function memberName({ display_name }: Pick<Member, "display_name">): string {
  return display_name ?? "Suspended account";
}
