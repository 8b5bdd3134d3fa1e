import { expect, test } from "vitest";
import { ignoredHeader } from "./ignored-header.ts";

test("names are strings in a list for each kind, each name once, and nothing ignored is no header", () => {
  expect(ignoredHeader({ fields: ["user", "seed", "user"], tools: ["web_search"], blocks: [] })).toEqual({
    "hearth-ignored": 'fields=("user" "seed"), tools=("web_search")',
  });
  expect(ignoredHeader({ fields: [], tools: [] })).toEqual({});
});

test("a name cannot leave its string, add another header, or make the header long", () => {
  const hostile = ['a"b', "a\r\nset-cookie: b", "a, tools=(b)", "ключ", "x".repeat(5000)];
  const { "hearth-ignored": value = "" } = ignoredHeader({ fields: hostile });
  expect(value).toBe(`fields=("a?b" "a??set-cookie:?b" "a??tools??b?" "????" "${"x".repeat(61)}...")`);
});

test("names without room are counted, so that the header has at most 1 KiB", () => {
  const names = Array.from({ length: 2000 }, (_, index) => `field_${index}`);
  const { "hearth-ignored": value = "" } = ignoredHeader({
    fields: names,
    tools: names,
    blocks: names,
    keywords: names,
  });
  expect(value).toMatch(/^fields=\("field_0" .*"field_\d+"\);more=19\d\d, tools=/u);
  expect(value.length).toBeLessThanOrEqual(1024);
});
