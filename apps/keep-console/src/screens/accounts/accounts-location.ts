import { formatQuery } from "../secrets/api-paths.ts";

export const accountsPath = "/api/operator/accounts";

export const statusOptions = [
  { value: "", label: "All" },
  { value: "active", label: "Active" },
  { value: "suspended", label: "Suspended" },
  { value: "paused", label: "Paused" },
] as const;

/** Empty for all; also if the URL has an unknown one. */
export function readStatus(query: URLSearchParams): string {
  return statusOptions.find(({ value }) => value === query.get("status"))?.value ?? "";
}

export function accountsHref({
  status,
  account,
}: {
  readonly status: string;
  readonly account?: string;
}): string {
  return `/accounts${formatQuery({ status: status === "" ? undefined : status, account })}`;
}
