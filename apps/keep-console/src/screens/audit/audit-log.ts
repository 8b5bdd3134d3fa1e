import type { AuditPage } from "@hearth-and-keep/vault-contract";
import { ask } from "../../vault-api/api-client.ts";
import type { AuditRecord, LogPlace } from "./audit-record.ts";

export function logPath(place: LogPlace): string {
  return place === "account"
    ? "/api/secrets/audit"
    : `/api/secrets/vaults/${encodeURIComponent(place)}/audit`;
}

export type LogStretch = {
  readonly items: readonly AuditRecord[];
  /** Asks for what is before them; undefined at the beginning of the log. */
  readonly nextBefore: number | undefined;
};

export type AskedStretch = {
  readonly place: LogPlace;
  /** None for all of them. */
  readonly types: readonly string[];
  readonly before: number | undefined;
  readonly signal: AbortSignal;
};

const pageSize = 50;

/** The newest first. The server looks for one type at a time, so several are asked for and laid together. */
export async function readStretch({ place, types, before, signal }: AskedStretch): Promise<LogStretch> {
  const wanted = types.length === 0 ? [undefined] : types;
  const pages = await Promise.all(
    wanted.map(async (type) => {
      const query = new URLSearchParams({
        limit: String(pageSize),
        ...(before === undefined ? {} : { before: String(before) }),
        ...(type === undefined ? {} : { type }),
      });
      return (await ask<AuditPage>(`${logPath(place)}?${query}`, { signal })).body;
    }),
  );
  return layTogether(pages);
}

/** Below the highest place where one of the pages ends, something may be missing: that part is asked for again. */
export function layTogether(pages: readonly AuditPage[]): LogStretch {
  const reached = Math.max(0, ...pages.map((page) => page.next_before ?? 0));
  const items = pages
    .flatMap((page) => page.items)
    .filter(({ seq }) => seq >= reached)
    .toSorted((one, other) => other.seq - one.seq);
  return { items, nextBefore: reached > 1 ? reached : undefined };
}
