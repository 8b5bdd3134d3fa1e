import { expect, test } from "vitest";
import { readServeConfig } from "./config.ts";

test.each([
  { flags: { host: "127.0.0.1:11999" }, host: "127.0.0.1", port: 11_999 },
  { flags: { host: "http://localhost:8080/" }, host: "localhost", port: 8080 },
  { flags: { host: "[::1]:8080" }, host: "::1", port: 8080 },
  { flags: { host: "::1" }, host: "::1", port: 11_434 },
  { flags: { host: "0.0.0.0" }, host: "0.0.0.0", port: 11_434 },
  { flags: { host: "127.0.0.1:11999", port: "8080" }, host: "127.0.0.1", port: 8080 },
])("serve accepts an address as the other commands do: $flags", ({ flags, host, port }) => {
  expect(readServeConfig(flags, undefined)).toMatchObject({ host, port });
});
