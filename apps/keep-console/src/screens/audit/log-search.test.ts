import { expect, test } from "vitest";
import { hrefOfLog, parseSearch, toParameters, wholeLog } from "./log-search.ts";

test("a search survives the URL", () => {
  const search = { show: "reads", actor: "session", secret: "0198", from: "2026-01-01", to: "2026-01-31" };
  const query = new URLSearchParams(hrefOfLog("V", search).split("?")[1]);
  expect(query.get("vault")).toBe("V");
  expect(parseSearch({ query })).toEqual(search);
  expect(parseSearch({ query: new URLSearchParams("vault=V") })).toEqual(wholeLog);
  expect(hrefOfLog("account")).toBe("/audit?vault=account");
});

test("the last day is included whole, and a text that is no day excludes nothing", () => {
  const { since = "", until = "" } = toParameters({ ...wholeLog, from: "2026-03-01", to: "2026-03-01" });
  expect(Date.parse(until) - Date.parse(since)).toBe(24 * 3_600_000);
  expect(new Date(since).getHours()).toBe(0);
  expect(toParameters({ ...wholeLog, from: "soon", to: "2026-99-99" })).toEqual({});
});
