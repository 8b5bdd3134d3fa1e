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

test("serve refuses remote models with the flag, which its parser reads as a negation", () => {
  expect(readServeConfig({ remote: false }, undefined).noRemote).toBe(true);
  expect(readServeConfig({ remote: true }, undefined).noRemote).toBe(false);
});

test.each(["127.0.0.1:4318", "ftp://collector", "http://user:secret@collector:4318"])(
  "an endpoint for traces that is not a plain URL is rejected: %s",
  (otlpEndpoint) => {
    expect(() => readServeConfig({ otlpEndpoint }, undefined)).toThrow("must be an http or https URL");
  },
);
