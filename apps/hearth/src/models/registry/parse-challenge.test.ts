import { expect, test } from "vitest";
import { parseChallenge } from "./parse-challenge.ts";

const bearer = {
  scheme: "bearer",
  realm: "https://a.example/token",
  service: "a",
  scope: "repository:x/y:pull",
};

test("a bearer challenge is parsed with its realm, service and scope", () => {
  const header = 'Bearer realm="https://a.example/token",service="a",scope="repository:x/y:pull"';
  expect(parseChallenge(header)).toEqual(bearer);
  expect(parseChallenge(header.replace("Bearer", "bearer").replaceAll(",", " , "))).toEqual(bearer);
});

test("the first supported challenge is used, in one header field or several", () => {
  expect(parseChallenge('Negotiate, Basic realm="x"')).toEqual({ scheme: "basic" });
  expect(parseChallenge(["Digest nonce=abc", 'Bearer realm="https://a.example/token"'])).toEqual({
    scheme: "bearer",
    realm: "https://a.example/token",
  });
});

test("a scope may contain commas, and a value may contain escaped quotes", () => {
  expect(parseChallenge(String.raw`Bearer realm="r\"s",scope="repository:a/b:pull,push"`)).toEqual({
    scheme: "bearer",
    realm: 'r"s',
    scope: "repository:a/b:pull,push",
  });
});

test.for([undefined, "", "Bearer", "Negotiate", "Bearer service=a", `Basic realm="${"a".repeat(9000)}"`])(
  "an invalid challenge is ignored: %s",
  (header) => {
    expect(parseChallenge(header)).toBeUndefined();
  },
);
