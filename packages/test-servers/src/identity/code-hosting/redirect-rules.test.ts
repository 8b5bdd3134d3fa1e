import { expect, test } from "vitest";
import { isAllowedRedirect } from "./redirect-rules.ts";

const callback = "http://example.com/path";

test.each([
  "http://example.com/path",
  "http://example.com/path/subdir/other",
  "http://oauth.example.com/path",
  "http://oauth.example.com/path/subdir/other",
])("the callback http://example.com/path allows %s", (redirectUri) => {
  expect(isAllowedRedirect(callback, redirectUri)).toBe(true);
});

test.each([
  "http://example.com/bar",
  "http://example.com/",
  "http://example.com/pathology",
  "http://example.com/path/../bar",
  "http://example.com:8080/path",
  "http://oauth.example.com:8080/path",
  "https://example.com/path",
  "http://example.org",
  "http://notexample.com/path",
  "not an address",
])("the callback http://example.com/path does not allow %s", (redirectUri) => {
  expect(isAllowedRedirect(callback, redirectUri)).toBe(false);
});

test("a loopback callback allows any port but no other path or host", () => {
  expect(isAllowedRedirect("http://127.0.0.1/path", "http://127.0.0.1:1234/path")).toBe(true);
  expect(isAllowedRedirect("http://127.0.0.1/path", "http://127.0.0.1:1234/other")).toBe(false);
  expect(isAllowedRedirect("http://127.0.0.1/path", "http://example.com:1234/path")).toBe(false);
});
