import { expect, test } from "vitest";
import { parseServerAddress } from "./server-address.ts";

test.each([
  ["127.0.0.1", "http://127.0.0.1:11434", true],
  ["localhost:8080", "http://localhost:8080", true],
  [":8080", "http://127.0.0.1:8080", true],
  ["0.0.0.0", "http://127.0.0.1:11434", true],
  ["0.0.0.0:80", "http://127.0.0.1", true],
  ["::1", "http://[::1]:11434", true],
  ["[::1]:9000", "http://[::1]:9000", true],
  ["models.example", "http://models.example:11434", false],
  ["http://models.example", "http://models.example", false],
  ["https://models.example/hearth/", "https://models.example/hearth", false],
])("%s is parsed as %s", (text, url, isLocal) => {
  expect(parseServerAddress(text)).toMatchObject({ url, isLocal });
});

test.each(["not an address", "ftp://host", "http://name:word@host", "", "host:port"])(
  "%j is rejected",
  (text) => {
    expect(() => parseServerAddress(text)).toThrow("address-invalid");
  },
);
