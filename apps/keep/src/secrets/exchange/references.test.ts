import { FailureError } from "@hearth-and-keep/failures";
import { describe, expect, test } from "vitest";
import type { SecretType } from "../queries.ts";
import { createExpander, type SecretPlace } from "./references.ts";

const home = "00000000-0000-4000-8000-000000000001";
const other = "00000000-0000-4000-8000-000000000002";

describe("references in a value", () => {
  test.for<[rule: string, text: string, expanded: string]>([
    [
      "a path stands for the secret of the same vault",
      "postgres://u:${/db/PASSWORD}@h",
      "postgres://u:p4ss@h",
    ],
    ["a vault's id before it means that vault", `<\${${other}:/db/PASSWORD}>`, "<other>"],
    [
      "what is referred to may refer on, from its own vault",
      `\${/chain} \${${other}:/chain}`,
      "[p4ss] [other]",
    ],
    ["the same one may stand twice", "${/db/PASSWORD}${/db/PASSWORD}", "p4ssp4ss"],
    ["two dollar signs are one that means nothing", "$${/db/PASSWORD} $${HOME}", "${/db/PASSWORD} ${HOME}"],
    ["a dollar sign more is a dollar sign", "$$${/a}", "$${/a}"],
    [
      "whatever is no reference is left alone",
      "$HOME ${HOME} ${/ $(id) ${} ${/}",
      "$HOME ${HOME} ${/ $(id) ${} ${/}",
    ],
    ["JSON is put in as it is, and not looked into", "${/json}", '["${/nowhere}"]'],
    ["names hold any character but braces", "${/a b/ключ $}", "blank"],
    ["an empty value is a value", "[${/empty}]", "[]"],
  ])("%s", async ([_rule, text, expanded]) => {
    expect(await expand(text)).toBe(expanded);
  });

  test.for<[rule: string, text: string, reference: string]>([
    ["one that names nothing", "a ${/nowhere} b", "${/nowhere}"],
    ["one that names something binary", "${/binary}", "${/binary}"],
    ["one that names nothing in another vault", `\${${other}:/json}`, `\${${other}:/json}`],
    ["one that another leads to", "${/dangling}", "${/nowhere}"],
  ])("%s is refused by name", async ([_rule, text, reference]) => {
    expect(await failureOf(expand(text))).toEqual({ kind: "reference-missing", reference });
  });

  test.for<[rule: string, text: string, references: readonly string[]]>([
    ["to itself", "${/start}", ["/start", "/start"]],
    ["to itself by the vault's id", `\${${home}:/start}`, ["/start", "/start"]],
    ["in two steps", "${/back}", ["/start", "/back", "/start"]],
    ["further on", "${/to-loop}", ["/loop", "/pool", "/loop"]],
    ["through another vault", `\${${other}:/home}`, ["/start", `${other}:/home`, "/start"]],
  ])("a way that leads back %s is refused with the way round", async ([_rule, text, references]) => {
    expect(await failureOf(expand(text))).toEqual({ kind: "reference-cycle", references });
  });

  test("eight references deep is expanded and nine is not, whatever was asked first", async () => {
    const expander = createExpander(home, async ({ path }) => fetchStep(path));
    expect(await expander({ vaultId: home, path: "/step2" }, "${/step3}")).toBe("end");
    expect(await expander({ vaultId: home, path: "/step1" }, "${/step2}")).toBe("end");
    expect(await failureOf(expander({ vaultId: home, path: "/step0" }, "${/step1}"))).toMatchObject({
      kind: "request-invalid",
      mistakes: [{ reason: "leads more than 8 references deep" }],
    });
    const fresh = createExpander(home, async ({ path }) => fetchStep(path));
    expect(await failureOf(fresh({ vaultId: home, path: "/step0" }, "${/step1}"))).toMatchObject({
      kind: "request-invalid",
      mistakes: [{ reason: "leads more than 8 references deep" }],
    });
  });

  test("two hundred secrets are fetched in one request and one more is not; each of them once", async () => {
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

  test("a result of 64 KiB is given and one byte more is not, before it is put together", async () => {
    const half = Buffer.alloc(32 * 1024, "x");
    const expander = createExpander(home, async () => ({ type: "text", bytes: half }));
    const at = { vaultId: home, path: "/a" };
    expect(await expander(at, "${/b}${/b}")).toHaveLength(64 * 1024);
    const refused = { kind: "request-invalid", mistakes: [expect.objectContaining({ place: "/a" })] };
    expect(await failureOf(expander(at, "${/b}${/b}y"))).toEqual(refused);
    expect(await failureOf(expander(at, "${/b}".repeat(10_000)))).toEqual(refused);
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
  const expander = createExpander(home, async ({ vaultId, path }: SecretPlace) => {
    const [type, value] = stored[`${vaultId}:${path}`] ?? [];
    return type === undefined || value === undefined ? undefined : { type, bytes: Buffer.from(value) };
  });
  return expander({ vaultId: home, path: "/start" }, text);
}

/** `/step1` refers to `/step2` and so on; the ninth refers to nothing. */
function fetchStep(path: string) {
  const step = Number(path.slice("/step".length));
  return { type: "text" as const, bytes: Buffer.from(step === 9 ? "end" : `\${/step${step + 1}}`) };
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (problem) {
    if (problem instanceof FailureError) return problem.failure;
    throw problem;
  }
  return undefined;
}
