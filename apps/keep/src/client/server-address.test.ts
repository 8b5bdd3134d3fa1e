import { expect, test } from "vitest";
import { isClientFailure } from "./client-failure.ts";
import { parseServer } from "./server-address.ts";

test.each([
  ["https://keep.example", "https://keep.example"],
  ["https://KEEP.example:443/", "https://keep.example"],
  ["keep.example:8300", "https://keep.example:8300"],
  ["http://localhost:8300", "http://localhost:8300"],
  ["http://127.0.0.1:8300", "http://127.0.0.1:8300"],
  ["http://[::1]:8300", "http://[::1]:8300"],
])("%s is the server %s", (text, origin) => {
  expect(parseServer(text)).toBe(origin);
});

test.each([
  ["http://keep.example", "plain-http"],
  ["http://127.0.0.1.evil.example", "plain-http"],
  ["http://localhost.evil.example", "plain-http"],
  ["https://user@keep.example", "malformed"],
  ["https://keep.example@evil.example", "malformed"],
  ["https://keep.example/path", "malformed"],
  ["https://keep.example?x", "malformed"],
  ["ftp://keep.example", "malformed"],
  ["", "malformed"],
  [`https://${"a".repeat(3000)}`, "malformed"],
])("%s is refused as %s", (text, reason) => {
  const attempt = (): unknown => {
    try {
      return parseServer(text);
    } catch (error) {
      return isClientFailure(error, "server-invalid") ? error.failure.reason : error;
    }
  };
  expect(attempt()).toBe(reason);
});
