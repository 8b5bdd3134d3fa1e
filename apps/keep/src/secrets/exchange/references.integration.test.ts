import { FailureError } from "@hearth-and-keep/failures";
import { describe, expect, test } from "vitest";
import type { SecretType } from "../queries.ts";
import { createExpander, type ReferenceTarget } from "./references.ts";

const home = "00000000-0000-4000-8000-000000000001";
const other = "00000000-0000-4000-8000-000000000002";

describe("references in a value", () => {
  test.for<[rule: string, text: string, expanded: string]>([
    ["a path refers to a secret of the same vault", "postgres://u:${/db/PASSWORD}@h", "postgres://u:p4ss@h"],
    ["a vault id selects another vault", `<\${${other}:/db/PASSWORD}>`, "<other>"],
    [
      "references nest, resolved in the vault of the referring secret",
      `\${/chain} \${${other}:/chain}`,
      "[p4ss] [other]",
    ],
    ["a reference may be repeated", "${/db/PASSWORD}${/db/PASSWORD}", "p4ssp4ss"],
    ["two dollar signs escape a reference", "$${/db/PASSWORD} $${HOME}", "${/db/PASSWORD} ${HOME}"],
    ["a third dollar sign is literal", "$$${/a}", "$${/a}"],
    [
      "anything else with a dollar sign is left alone",
      "$HOME ${HOME} ${/ $(id) ${} ${/}",
      "$HOME ${HOME} ${/ $(id) ${} ${/}",
    ],
    ["JSON values are inserted unexpanded", "${/json}", '["${/nowhere}"]'],
    ["names may contain any character but braces", "${/a b/ключ $}", "blank"],
    ["an empty value is inserted", "[${/empty}]", "[]"],
  ])("%s", async ([_rule, text, expanded]) => {
    expect(await expand(text)).toBe(expanded);
  });

  test.for<[rule: string, text: string, reference: string, holder?: string]>([
    ["a missing secret", "a ${/nowhere} b", "${/nowhere}"],
    ["a binary secret", "${/binary}", "${/binary}"],
    ["a missing secret in another vault", `\${${other}:/json}`, `\${${other}:/json}`],
    ["a missing secret behind another reference", "${/dangling}", "${/nowhere}", "/dangling"],
  ])(
    "a reference to %s is rejected by name, with the secret that contains it",
    async ([_rule, text, reference, holder = "/start"]) => {
      expect(await failureOf(expand(text))).toEqual({ kind: "reference-missing", reference, holder });
    },
  );

  test.for<[rule: string, text: string, references: readonly string[]]>([
    ["to itself", "${/start}", ["/start", "/start"]],
    ["to itself through the vault id", `\${${home}:/start}`, ["/start", "/start"]],
    ["in two steps", "${/back}", ["/start", "/back", "/start"]],
    ["further along the chain", "${/to-loop}", ["/loop", "/pool", "/loop"]],
    ["through another vault", `\${${other}:/home}`, ["/start", `${other}:/home`, "/start"]],
  ])("a cycle %s is rejected with its path", async ([_rule, text, references]) => {
    expect(await failureOf(expand(text))).toEqual({ kind: "reference-cycle", references });
  });

  test("eight levels of references are expanded and nine are rejected, whatever is cached", async () => {
    const expander = createExpander(home, async ({ path }) => fetchStep(path));
    expect(await expander({ vaultId: home, path: "/step2" }, "${/step3}")).toBe("end");
    expect(await expander({ vaultId: home, path: "/step1" }, "${/step2}")).toBe("end");
    expect(await failureOf(expander({ vaultId: home, path: "/step0" }, "${/step1}"))).toMatchObject({
      kind: "request-invalid",
      errors: [{ reason: "is nested more than 8 references deep" }],
    });
    const fresh = createExpander(home, async ({ path }) => fetchStep(path));
    expect(await failureOf(fresh({ vaultId: home, path: "/step0" }, "${/step1}"))).toMatchObject({
      kind: "request-invalid",
      errors: [{ reason: "is nested more than 8 references deep" }],
    });
  });

  test("a request fetches at most two hundred secrets, each once", async () => {
    const fetched: string[] = [];
    const expander = createExpander(home, async ({ path }) => {
      fetched.push(path);
      return { type: "text", bytes: Buffer.from("x") };
    });
    const many = Array.from({ length: 200 }, (_value, index) => `\${/${index}}`).join("");
    expect(await expander({ vaultId: home, path: "/a" }, many + many)).toBe("x".repeat(400));
    expect(fetched.length).toBe(200);
    expect(await failureOf(expander({ vaultId: home, path: "/b" }, "${/more}"))).toMatchObject({
      kind: "request-invalid",
    });
  });

  test("a result of 64 KiB is returned; one more byte is rejected before the text is built", async () => {
    const half = Buffer.alloc(32 * 1024, "x");
    const expander = createExpander(home, async () => ({ type: "text", bytes: half }));
    const target = { vaultId: home, path: "/a" };
    expect(await expander(target, "${/b}${/b}")).toHaveLength(64 * 1024);
    const rejected = { kind: "request-invalid", errors: [expect.objectContaining({ field: "/a" })] };
    expect(await failureOf(expander(target, "${/b}${/b}y"))).toEqual(rejected);
    expect(await failureOf(expander(target, "${/b}".repeat(10_000)))).toEqual(rejected);
  });
});

const stored: Readonly<Record<string, readonly [SecretType, string]>> = {
  [`${home}:/db/PASSWORD`]: ["text", "p4ss"],
  [`${other}:/db/PASSWORD`]: ["text", "other"],
  [`${home}:/chain`]: ["text", "[${/db/PASSWORD}]"],
  [`${other}:/chain`]: ["text", "[${/db/PASSWORD}]"],
  [`${home}:/json`]: ["json", '["${/nowhere}"]'],
  [`${home}:/a b/ключ $`]: ["text", "blank"],
  [`${home}:/empty`]: ["text", ""],
  [`${home}:/binary`]: ["binary", "bytes"],
  [`${home}:/dangling`]: ["text", "${/nowhere}"],
  [`${home}:/back`]: ["text", "${/start}"],
  [`${home}:/to-loop`]: ["text", "${/loop}"],
  [`${home}:/loop`]: ["text", "${/pool}"],
  [`${home}:/pool`]: ["text", "${/loop}"],
  [`${other}:/home`]: ["text", `\${${home}:/start}`],
};

function expand(text: string): Promise<string> {
  const expander = createExpander(home, async ({ vaultId, path }: ReferenceTarget) => {
    const [type, value] = stored[`${vaultId}:${path}`] ?? [];
    return type === undefined || value === undefined ? undefined : { type, bytes: Buffer.from(value) };
  });
  return expander({ vaultId: home, path: "/start" }, text);
}

/** `/step1` refers to `/step2` and so on; `/step9` has no reference. */
function fetchStep(path: string) {
  const step = Number(path.slice("/step".length));
  return { type: "text" as const, bytes: Buffer.from(step === 9 ? "end" : `\${/step${step + 1}}`) };
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    if (error instanceof FailureError) return error.failure;
    throw error;
  }
  return undefined;
}
