import type { PageLocation } from "@hearth-and-keep/page-design";
import { formatQuery } from "../secrets/api-paths.ts";
import type { LogId } from "./audit-record.ts";

/** What of a log is shown. All of it is in the URL; an empty text excludes nothing. */
export type LogSearch = {
  /** Id of a filter by kinds of events. */
  readonly show: string;
  /** As the API's parameter `actor`. */
  readonly actor: string;
  /** Id of a secret. */
  readonly secret: string;
  /** First and last day, in local time: `2026-01-31`. */
  readonly from: string;
  readonly to: string;
};

export const wholeLog: LogSearch = { show: "", actor: "", secret: "", from: "", to: "" };

export function parseSearch({ query }: Pick<PageLocation, "query">): LogSearch {
  const read = (name: keyof LogSearch): string => query.get(name) ?? "";
  return {
    show: read("show"),
    actor: read("actor"),
    secret: read("secret"),
    from: read("from"),
    to: read("to"),
  };
}

export function hrefOfLog(logId: LogId, search: Partial<LogSearch> = {}): string {
  const { show = "", actor = "", secret = "", from = "", to = "" } = search;
  const parameters = Object.entries({ show, actor, secret, from, to }).filter(([, value]) => value !== "");
  return `/audit${formatQuery({ vault: logId, ...Object.fromEntries(parameters) })}`;
}

/** The API's parameters. */
export function toParameters({ actor, secret, from, to }: LogSearch): Readonly<Record<string, string>> {
  const since = startOfDay(from);
  const until = startOfDay(to, 1);
  return {
    ...(actor === "" ? {} : { actor }),
    ...(secret === "" ? {} : { secret }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
}

/** Undefined for a text that is no day. */
function startOfDay(day: string, daysLater = 0): string | undefined {
  const date = new Date(`${day}T00:00:00`);
  if (Number.isNaN(date.getTime())) return undefined;
  // Days of a change to or from summer time have other lengths.
  date.setDate(date.getDate() + daysLater);
  return date.toISOString();
}
