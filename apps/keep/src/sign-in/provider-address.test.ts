import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { explainFailure, type StartFailure } from "../failures.ts";
import { readProviderAddress, readPublicUrl } from "./provider-address.ts";

/** The error message, or the accepted URL. */
function outcomeOf(parse: () => URL): string {
  try {
    return parse().href;
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    // Both functions throw only start failures.
    return explainFailure(error.failure as StartFailure).messages.join(" ");
  }
}

test.each([
  "https://keep.example",
  "https://keep.example:8443",
  "http://localhost:8300",
  "http://127.0.0.1:8300",
  "http://[::1]:8300",
])("%s is a valid public URL", (text) => {
  expect(outcomeOf(() => readPublicUrl(text))).toBe(`${text}/`);
});

test.each(["http://keep.example", "http://10.0.0.5:8300", "http://localhost.example"])(
  "a public URL that would send sessions unencrypted is rejected: %s",
  (text) => {
    expect(outcomeOf(() => readPublicUrl(text))).toContain(
      `KEEP_PUBLIC_URL is ${text}, which would send session cookies unencrypted`,
    );
  },
);

test.each([
  "keep.example",
  "https://keep.example/keep",
  "ftp://keep.example",
  "https://me:canary@keep.example",
  "",
])("%j is not a valid public URL, and the error does not contain its password", (text) => {
  const message = outcomeOf(() => readPublicUrl(text));
  expect(message).toContain("must be a URL without a path");
  expect(message).not.toContain("canary");
});

test.each(["https://github.com", "https://git.example/base", "http://localhost:3000", "http://192.168.1.7"])(
  "%s is a valid provider URL",
  (text) => {
    expect(outcomeOf(() => readProviderAddress("codeHostingUrl", text))).toContain(text);
  },
);

test.each([
  "http://git.example",
  "http://8.8.8.8",
  "https://git.example?x=1",
  "https://me:canary@git.example",
  "git",
])("%s is not a valid provider URL", (text) => {
  const message = outcomeOf(() => readProviderAddress("codeHostingUrl", text));
  expect(message).toContain("Cannot start: codeHostingUrl must be an https URL");
  expect(message).not.toContain("canary");
});
