import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findCanaries } from "../../test/canaries.ts";
import { type OpenedVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import { seededRandom } from "../../test/seeded-random.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { startEnvironments, writeAll } from "./test/fixture.ts";

let keep: TestKeep;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
});
afterAll(() => keep[Symbol.asyncDispose]());

type Outcome = readonly [outcome: unknown, inherited: unknown];

async function compare(vault: OpenedVault, left: string, right: string) {
  const [status, body] = await vault.json("GET", `/compare?left=${left}&right=${right}`);
  expect([status, body.code]).toEqual([200, undefined]);
  return Object.fromEntries(
    // Items of a comparison.
    (body.items as unknown as Record<string, unknown>[]).map((item): [string, Outcome] => [
      String(item["path"]),
      [item["outcome"], item["inherited"]],
    ]),
  );
}

/** The secrets of a folder by their paths in it. */
function pick(
  secrets: Readonly<Record<string, string>>,
  folder: string,
): readonly (readonly [string, string])[] {
  return Object.entries(secrets).flatMap(([path, value]) =>
    path.startsWith(`${folder}/`) ? [[path.slice(folder.length + 1), value] as const] : [],
  );
}

/** By plain maps: own values over those of the base. */
function expectedOutcomes(secrets: Readonly<Record<string, string>>, left: string, right: string) {
  const side = (folder: string) => {
    const isEnvironment = /^\/(?:dev|staging|prod)(?:\/|$)/u.test(folder);
    const base = isEnvironment ? pick(secrets, folder.replace(/^\/\w+/u, "/base")) : [];
    return { own: new Map(pick(secrets, folder)), all: new Map([...base, ...pick(secrets, folder)]) };
  };
  const [one, other] = [side(left), side(right)];
  const names = new Set([...one.all.keys(), ...other.all.keys()]);
  return Object.fromEntries(
    [...names].map((name): [string, Outcome] => {
      const [a, b] = [one.all.get(name), other.all.get(name)];
      const isSame = a === b ? "same" : "different";
      const outcome = a === undefined ? "right_only" : b === undefined ? "left_only" : isSame;
      const isLeft = a !== undefined && !one.own.has(name);
      const isRight = b !== undefined && !other.own.has(name);
      return [name, [outcome, isLeft && isRight ? "both" : isLeft ? "left" : isRight ? "right" : undefined]];
    }),
  );
}

test("generated folders are compared as plain maps are", async () => {
  const random = seededRandom(63);
  const outcomes = new Set<string>();
  for (let round = 0; round < 6; round += 1) {
    const vault = await startEnvironments(keep);
    const secrets: Record<string, string> = {};
    for (let index = 0; index < 60; index += 1) {
      const folder =
        random.pick(["/base", "/staging", "/prod", "/other"]) + random.pick(["", "/api", "/api/v2"]);
      secrets[`${folder}/N${random.between(0, 6)}`] = random.pick(["one", "two", "three", ""]);
    }
    await writeAll(vault, secrets);
    for (const [left, right] of [
      ["/staging", "/prod"],
      ["/prod/api", "/staging/api"],
      ["/other", "/prod"],
      ["/base", "/dev"],
      ["/other", "/missing"],
    ] as const) {
      const compared = await compare(vault, left, right);
      expect(compared).toEqual(expectedOutcomes(secrets, left, right));
      for (const outcome of Object.values(compared)) outcomes.add(outcome.join(" "));
    }
  }
  // Every combination that is possible was met.
  expect([...outcomes].filter((outcome) => /same|different/u.test(outcome)).length).toBeGreaterThanOrEqual(6);
});

test("equal bytes of different types are different", async () => {
  const vault = await startEnvironments(keep);
  await vault.json("PUT", "/secrets/by-path/staging/A", { value: "1", type: "json" });
  await vault.json("PUT", "/secrets/by-path/prod/A", { value: "1" });
  expect(await compare(vault, "/staging", "/prod")).toEqual({ A: ["different", undefined] });
});

test("no value is in a comparison, a promotion, their errors, the audit log or Keep's log", async () => {
  const canary = `canary${randomBytes(9).toString("hex")}`;
  const vault = await startEnvironments(keep);
  await writeAll(vault, {
    "/staging/SAME": `${canary} one`,
    "/prod/SAME": `${canary} one`,
    "/staging/DIFFERENT": `${canary} two`,
    "/prod/DIFFERENT": `${canary} 222`,
    "/staging/NEW": `${canary} three \${/gone}`,
    "/base/BASE": `${canary} four`,
  });
  const limited = await vault.addToken({ scopes: ["secrets:read", "secrets:write"], paths: ["/staging/**"] });
  const texts: string[] = [];
  const send = async (method: string, path: string, options: object = {}) =>
    texts.push(await (await vault.request(method, path, options)).text());
  for (const token of [vault.token.text, limited]) {
    await send("GET", "/compare?left=/staging&right=/prod", { token });
    await send("GET", "/compare?left=/staging&right=/../prod", { token });
    for (const dry_run of [true, false])
      await send("POST", "/promote", { token, body: { from: "/staging", to: "/prod", dry_run } });
    await send("POST", "/promote", { token, body: { from: "/staging", to: "/prod", names: ["GONE"] } });
    await send("POST", "/promote", { token, body: { from: "/staging", to: "/staging/deep" } });
  }
  await send("GET", "/audit");
  const haystacks = [...texts, keep.logLines.join("\n")].map((text, index) => ({
    name: `text ${index}`,
    content: Buffer.from(text),
  }));
  expect(findCanaries(haystacks, [canary])).toEqual([]);
  expect(texts.join()).toContain("different");
  expect(texts.join()).toContain("changed");
});

test("a comparison needs to read both folders and the base as a whole, and is one event", async () => {
  const vault = await startEnvironments(keep);
  await writeAll(vault, { "/staging/A": "a", "/prod/A": "b", "/staging/B": "longer" });
  const status = async (scopes: readonly ("secrets:read" | "secrets:list")[], paths: readonly string[]) => {
    const token = await vault.addToken({ scopes, paths });
    const [code] = await vault.as(token).json("GET", "/compare?left=/staging&right=/prod");
    return code;
  };
  const all = ["/staging/**", "/prod/**", "/base/**"];
  expect(await status(["secrets:list"], all)).toBe(403);
  for (const left of all)
    expect(
      await status(
        ["secrets:read"],
        all.filter((path) => path !== left),
      ),
    ).toBe(403);
  expect(await status(["secrets:read"], ["/staging/*", "/prod/**", "/base/**"])).toBe(403);
  expect(await status(["secrets:read"], all)).toBe(200);
  const [, log] = await vault.json("GET", "/audit?type=folders-compared");
  expect(log.items.map((item) => ("body" in item ? item.body : undefined))).toMatchObject([
    { path: "/staging", to: "/prod", secrets: [expect.any(String), expect.any(String)] },
  ]);
  const [, reads] = await vault.json("GET", "/audit?type=values-read");
  expect(reads.items).toEqual([]);
});
