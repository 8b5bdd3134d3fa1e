import { requestFailure } from "../../failures.ts";
import type { KeepAlive } from "../../scheduling/keep-alive.ts";

const unitSeconds: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
};

const duration = /^(?<sign>[+-]?)(?<spans>(?:\d{1,12}(?:\.\d{0,9})?(?:ns|us|µs|ms|s|m|h)){1,8})$/u;
const span = /(?<count>[\d.]+)(?<unit>ns|us|µs|ms|s|m|h)/gu;

/** Seconds as a number or its text, or spans such as "1h30m"; below zero is forever. */
export function readKeepAlive(value: number | string | null | undefined): { readonly keepAlive?: KeepAlive } {
  if (value === undefined || value === null || value === "") return {};
  const seconds = typeof value === "number" ? value : readSeconds(value);
  if (!Number.isFinite(seconds)) {
    const reason = `is "${value}", neither seconds nor a duration such as "5m"`;
    throw requestFailure({ kind: "request-invalid", place: "keep_alive", reason });
  }
  return { keepAlive: seconds };
}

function readSeconds(text: string): number {
  if (/^[+-]?\d{1,12}(?:\.\d{0,9})?$/u.test(text)) return Number(text);
  const groups = duration.exec(text)?.groups;
  if (groups === undefined) return Number.NaN;
  const spans = [...(groups["spans"] ?? "").matchAll(span)];
  const seconds = spans.reduce(
    (sum, { groups: each }) =>
      sum + Number(each?.["count"]) * (unitSeconds[each?.["unit"] ?? ""] ?? Number.NaN),
    0,
  );
  return groups["sign"] === "-" ? -seconds : seconds;
}
