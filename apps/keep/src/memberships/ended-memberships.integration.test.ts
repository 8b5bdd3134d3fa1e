import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

const intervalMilliseconds = 2000;
const settings = { admission: "rules", allowedCodeHostingOrgs: "acme" };

let fixture: KeepWithProviders;
let nodes: readonly TestKeep[];
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keep-memberships-"));
  const tokenFile = join(folder, "token");
  await writeFile(tokenFile, "replaced-below\n");
  fixture = await startKeepWithProviders({
    settings: { ...settings, codeHostingMembershipTokenFile: tokenFile },
    membershipCheckMilliseconds: intervalMilliseconds,
  });
  putMember(1);
  await writeFile(tokenFile, `${fixture.codeHosting.createToken(1, ["read:org"])}\n`);
  nodes = [fixture.keep, await fixture.addNode(), await fixture.addNode()];
}, 240_000);
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function putMember(id: number, state: "active" | "pending" = "active"): void {
  const memberships = [{ organization: "acme", state }] as const;
  fixture.codeHosting.putAccount({ id, login: `login-${id}`, name: null, emails: [], memberships });
}

/** A member with a session and a token; `statuses` are those of both on every node. */
async function startMember(id: number) {
  putMember(id);
  const browser = await fixture.signIn("code-hosting", `login-${id}`);
  const { id: accountId } = await browser.account();
  const token = (await fixture.keep.addToken({ accountId }, { scopes: ["vaults:read"] })).text;
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const statuses = async (): Promise<readonly number[]> => {
    const responses = nodes.flatMap((node) => [
      node.request("/api/session", { headers: { cookie, "sec-fetch-site": "same-origin" } }),
      node.request("/api/secrets/vaults", { token }),
    ]);
    return (await Promise.all(responses)).map(({ status }) => status);
  };
  return { statuses };
}

test("a membership that ended ends sessions and tokens on all nodes at the next check", {
  timeout: 120_000,
}, async () => {
  const [gone, stays] = [await startMember(11), await startMember(12)];
  const everywhere = (status: number) => Array.from({ length: nodes.length * 2 }, () => status);
  expect(await gone.statuses()).toEqual(everywhere(200));
  expect(await stays.statuses()).toEqual(everywhere(200));
  putMember(11, "pending");
  const startedAt = performance.now();
  await expect.poll(gone.statuses, { interval: 500, timeout: 60_000 }).toEqual(everywhere(401));
  const intervals = (performance.now() - startedAt) / intervalMilliseconds;
  expect(await stays.statuses()).toEqual(everywhere(200));
  const metrics = await Promise.all(nodes.map(async ({ metricsUrl }) => (await fetch(metricsUrl)).text()));
  expect(metrics.join("\n")).toMatch(/keep_membership_checks_total\{outcome="succeeded"\} [1-9]/u);
  expect(metrics.join("\n")).toMatch(/keep_membership_check_age_seconds \d/u);
  recordFigure({
    claim: "teams 3",
    text: `a member removed from the organization lost the session and the token on ${nodes.length} nodes at the next check, ${intervals.toFixed(1)} intervals later; an interval is at most 15 minutes`,
    counted: { reached: nodes.length * 2, needed: nodes.length * 2 },
  });
});

test("the start without a token says when ended memberships are noticed", async () => {
  await using plain = await startKeepWithProviders({ settings });
  await expect
    .poll(() => plain.keep.printed.join("\n"))
    .toContain("Memberships that end are noticed only at the next sign-in");
  expect(fixture.keep.printed.join("\n")).not.toContain("Memberships that end");
});

test("a token for checks without organizations, or one that cannot be read, stops the start", async () => {
  const file = join(folder, "token");
  const start = startKeepWithProviders({ settings: { codeHostingMembershipTokenFile: file } });
  await expect(start).rejects.toMatchObject({ failure: { kind: "membership-token-unused" } });
  const missing = { ...settings, codeHostingMembershipTokenFile: join(folder, "missing") };
  await expect(startKeepWithProviders({ settings: missing })).rejects.toMatchObject({
    failure: { kind: "membership-token-unreadable" },
  });
});
