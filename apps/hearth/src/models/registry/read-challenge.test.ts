import { expect, test } from "vitest";
import { readChallenge } from "./read-challenge.ts";

const bearer = {
  scheme: "bearer",
  realm: "https://a.example/token",
  service: "a",
  scope: "repository:x/y:pull",
};

test("a bearer challenge is read with its realm, service and scope", () => {
  const header = 'Bearer realm="https://a.example/token",service="a",scope="repository:x/y:pull"';
  expect(readChallenge(header)).toEqual(bearer);
  expect(readChallenge(header.replace("Bearer", "bearer").replaceAll(",", " , "))).toEqual(bearer);
});

test("of several challenges the first that we can meet counts, in one header or in several", () => {
  expect(readChallenge('Negotiate, Basic realm="x"')).toEqual({ scheme: "basic" });
  expect(readChallenge(["Digest nonce=abc", 'Bearer realm="https://a.example/token"'])).toEqual({
    scheme: "bearer",
    realm: "https://a.example/token",
  });
});

test("a scope may hold commas and a value may hold escaped quotes", () => {
  expect(readChallenge(String.raw`Bearer realm="r\"s",scope="repository:a/b:pull,push"`)).toEqual({
    scheme: "bearer",
    realm: 'r"s',
    scope: "repository:a/b:pull,push",
  });
});

test.for([undefined, "", "Bearer", "Negotiate", "Bearer service=a", `Basic realm="${"a".repeat(9000)}"`])(
  "what is no challenge is none: %s",
  (header) => {
    expect(readChallenge(header)).toBeUndefined();
  },
);
