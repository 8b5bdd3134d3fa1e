import type { AuditPage } from "@hearth-and-keep/vault-contract";
import { request } from "../../vault-api/api-client.ts";
import type { AuditRecord, LogId } from "./audit-record.ts";
import { type LogSearch, toParameters } from "./log-search.ts";

const organisationPrefix = "organisation:";

/** The log of an organisation itself, which only lists its events. */
export function organisationLog(organisationId: string): LogId {
  return `${organisationPrefix}${organisationId}`;
}

export function logPath(logId: LogId): string {
  if (logId.startsWith(organisationPrefix))
    return `/api/organisations/${encodeURIComponent(logId.slice(organisationPrefix.length))}/audit`;
  return logId === "account"
    ? "/api/secrets/audit"
    : `/api/secrets/vaults/${encodeURIComponent(logId)}/audit`;
}

export type LogPage = {
  readonly items: readonly AuditRecord[];
  /** Cursor of the next older page; undefined at the start of the log. */
  readonly nextBefore: number | undefined;
};

export type LogPageRequest = {
  readonly logId: LogId;
  /** Empty for all types. */
  readonly types: readonly string[];
  readonly search: LogSearch;
  readonly before: number | undefined;
  readonly signal: AbortSignal;
};

const pageSize = 50;

/** Newest first. The API filters by one type at a time, so a filter with several types sends several requests. */
export async function readLogPage({
  logId,
  types,
  search,
  before,
  signal,
}: LogPageRequest): Promise<LogPage> {
  const requestedTypes = types.length === 0 ? [undefined] : types;
  const pages = await Promise.all(
    requestedTypes.map(async (type) => {
      const query = new URLSearchParams({
        limit: String(pageSize),
        ...toParameters(search),
        ...(before === undefined ? {} : { before: String(before) }),
        ...(type === undefined ? {} : { type }),
      });
      return (await request<AuditPage>(`${logPath(logId)}?${query}`, { signal })).body;
    }),
  );
  return mergePages(pages);
}

/**
 * Keeps only records down to the highest cursor among the pages: below it, a page that ended earlier may have records
 * that were not fetched yet.
 */
export function mergePages(pages: readonly AuditPage[]): LogPage {
  const lowest = Math.max(0, ...pages.map((page) => page.next_before ?? 0));
  const items = pages
    .flatMap((page) => page.items)
    .filter(({ number }) => number >= lowest)
    // Records of several logs can have one number.
    .toSorted((one, other) => other.number - one.number || other.log - one.log);
  return { items, nextBefore: lowest > 1 ? lowest : undefined };
}
