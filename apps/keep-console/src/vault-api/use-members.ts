import type { Member } from "@hearth-and-keep/vault-contract";
import { useEffect } from "react";
import { memberName, membersPath } from "./member-names.ts";
import { type PagedList, usePagedList } from "./use-paged-list.ts";
import { onInvalidate } from "./use-query.ts";

/** The members of an organisation, page by page. */
export function useMembers(organisationId: string): PagedList<Member> {
  const path = membersPath(organisationId);
  const list = usePagedList<Member>(path);
  const { reload } = list;
  useEffect(() => onInvalidate(path, reload), [path, reload]);
  return list;
}

/** Loads page after page, up to the 5,000 members that an organisation can have. */
export function useAllMembers(organisationId: string): PagedList<Member> {
  const list = useMembers(organisationId);
  const { hasMore, loadMore, items } = list;
  useEffect(() => {
    if (hasMore) loadMore();
  }, [hasMore, loadMore, items]);
  return list;
}

/** The label of each member in a choice. Two people can have one name, so the end of the id tells them apart. */
export function memberLabels(members: readonly Member[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const member of members) counts.set(memberName(member), (counts.get(memberName(member)) ?? 0) + 1);
  return new Map(
    members.map((member) => {
      const name = memberName(member);
      const isUnique = counts.get(name) === 1;
      return [member.person_id, isUnique ? name : `${name} (…${member.person_id.slice(-6)})`];
    }),
  );
}
