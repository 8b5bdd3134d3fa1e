import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { explainFailure, type StartFailure } from "../failures.ts";
import { readProviderAddress, readPublicUrl } from "./provider-address.ts";

/** The sentence that a person reads, or the address that was accepted. */
function outcomeOf(read: () => URL): string {
  try {
    return read().href;
  } catch (problem) {
    if (!(problem instanceof FailureError)) throw problem;
    // Both functions throw what keeps a command from starting.
    return explainFailure(problem.failure as StartFailure).messages.join(" ");
  }
}

test.each([
  "https://keep.example",
  "https://keep.example:8443",
  "http://localhost:8300",
  "http://127.0.0.1:8300",
  "http://[::1]:8300",
])("people may reach Keep at %s", (text) => {
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
])("people cannot reach Keep at %j, which is said without what may be a password", (text) => {
  const sentence = outcomeOf(() => readPublicUrl(text));
  expect(sentence).toContain("must be a URL without a path");
  expect(sentence).not.toContain("canary");
});

test.each(["https://github.com", "https://git.example/base", "http://localhost:3000", "http://192.168.1.7"])(
  "a provider may be at %s",
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
])("a provider may not be at %s", (text) => {
  const sentence = outcomeOf(() => readProviderAddress("codeHostingUrl", text));
  expect(sentence).toContain("Cannot start: codeHostingUrl must be an https URL");
  expect(sentence).not.toContain("canary");
});
