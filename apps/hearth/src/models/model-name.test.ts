import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  displayModelName,
  isCloudName,
  isSameModelName,
  namePath,
  parseModelName,
  tryParseModelName,
} from "./model-name.ts";

const digest = `sha256:${"0a".repeat(32)}`;

describe("a name is parsed from the right", () => {
  test.each([
    ["llama3.2", "registry.ollama.ai/library/llama3.2/latest", "llama3.2:latest"],
    ["llama3.2:1b", "registry.ollama.ai/library/llama3.2/1b", "llama3.2:1b"],
    ["team/smol:small", "registry.ollama.ai/team/smol/small", "team/smol:small"],
    ["registry.ollama.ai/library/m:t", "registry.ollama.ai/library/m/t", "m:t"],
    ["Registry.Ollama.AI/Library/m:t", "Registry.Ollama.AI/Library/m/t", "m:t"],
    ["hf.co/user/repo:Q4_K_M", "hf.co/user/repo/Q4_K_M", "hf.co/user/repo:Q4_K_M"],
    ["localhost:5000/a/b", "localhost:5000/a/b/latest", "localhost:5000/a/b:latest"],
    ["http://127.0.0.1:5000/a/b:c", "127.0.0.1:5000/a/b/c", "127.0.0.1:5000/a/b:c"],
    ["_m-1.x:_t", "registry.ollama.ai/library/_m-1.x/_t", "_m-1.x:_t"],
    [`m:t@${digest}`, "registry.ollama.ai/library/m/t", "m:t"],
  ])("%s", (text, path, display) => {
    const name = parseModelName(text);
    expect(namePath(name).join("/")).toBe(path);
    expect(displayModelName(name)).toBe(display);
  });

  test("scheme and digest are kept", () => {
    expect(parseModelName(`http://h.example/a/b:c@${digest}`)).toMatchObject({ scheme: "http", digest });
    expect(parseModelName("h.example/a/b:c")).toMatchObject({ scheme: "https", digest: null });
  });
});

test.each([
  "",
  ":",
  "m:",
  ":t",
  "/m",
  "a//m",
  "a/b/c/d",
  "a/b/c/d/e::",
  "a b",
  "m:t/../x",
  "..",
  ".",
  "../m",
  "a/..",
  ".hidden",
  "-m",
  "a.b/m",
  "m:-t",
  "m\\n",
  "m\0",
  "m%2f..",
  "é",
  "/etc/passwd",
  "file:///a/b/c",
  "https://m",
  "https://a/m",
  "m@",
  "m@sha256:abc",
  `m@${digest}@${digest}`,
  `m@${digest.toUpperCase()}`,
  `m:${"t".repeat(81)}`,
  "m".repeat(81),
  `${"n".repeat(81)}/m`,
  `${"h".repeat(351)}/n/m`,
])("%j is not a model name", (text) => {
  expect(tryParseModelName(text)).toBeUndefined();
  expect(() => parseModelName(text)).toThrow(
    expect.objectContaining({ failure: { kind: "name-invalid", name: text } }),
  );
});

test("components of the maximum length are accepted", () => {
  const longest = `${"h".repeat(350)}/${"n".repeat(80)}/${"m".repeat(80)}:${"t".repeat(80)}`;
  expect(displayModelName(parseModelName(longest))).toBe(longest);
});

test("names are compared case-insensitively", () => {
  expect(isSameModelName(parseModelName("Llama:Latest"), parseModelName("LIBRARY/llama"))).toBe(true);
  expect(isSameModelName(parseModelName("llama"), parseModelName("llama:1b"))).toBe(false);
});

test("cloud tags are recognised, except with a :local suffix", () => {
  expect(["m:cloud", "m:120b-cloud", "m:120B-CLOUD"].map(isCloud)).toEqual([true, true, true]);
  expect(["m", "m:cloudy", "m:120b-cloud:local", "cloud:x", "m:local"].map(isCloud)).toEqual(
    Array.from({ length: 5 }, () => false),
  );
  expect(parseModelName("m:local").tag).toBe("local");
  expect(parseModelName("m:120b-cloud:local").tag).toBe("120b-cloud");
});

const component = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,20}$/u);
const anyName = fc.record({ host: component, namespace: component, model: component, tag: component });

test("parsing a displayed name yields the same name", () => {
  fc.assert(
    fc.property(anyName, (name) => {
      expect(isSameModelName(parseModelName(displayModelName(name)), name)).toBe(true);
    }),
    { seed: 1 },
  );
});

test("no text parses to a component that could leave its folder", () => {
  const fragment = fc.oneof(
    fc.constantFrom("..", ".", "/", ":", "@", "\\", "\0", "%2e", "~", "a", "http://", "//", " "),
    fc.string({ maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 12 }), (fragments) => {
      const name = tryParseModelName(fragments.join(""));
      for (const each of name === undefined ? [] : namePath(name)) {
        expect(each).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_.:-]*$/u);
      }
    }),
    { numRuns: 5000, seed: 2 },
  );
});

function isCloud(text: string): boolean {
  return isCloudName(parseModelName(text));
}
