import { recordFigure } from "@hearth-and-keep/figures";
import type { CodeHostingAccount, GeneralAccount } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { changeOperator } from "../accounts/suspend-account.ts";
import { createFakeBrowser, readAs } from "../test/fake-browser.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";

const settings = {
  admission: "rules",
  allowedEmailDomains: "company.test",
  allowedCodeHostingOrgs: "Acme,other/platform",
  allowedGroups: "engineering",
  allowedIdentities: "code-hosting:777",
  operators: "general:900",
};

let fixture: KeepWithProviders;
beforeAll(async () => {
  fixture = await startKeepWithProviders({ settings });
});
afterAll(() => fixture[Symbol.asyncDispose]());

let ids = 1000;

type Rules = Partial<CodeHostingAccount>;

/** Signs in as a person who is like this at the code-hosting provider. */
function signInByCode(rules: Rules, id = (ids += 1)) {
  fixture.codeHosting.putAccount({ id, login: `login-${id}`, name: null, emails: [], ...rules });
  return fixture.signIn("code-hosting", rules.login ?? `login-${id}`);
}

function signInByOpenId(account: Partial<GeneralAccount>, subject = String((ids += 1))) {
  fixture.general.putAccount({
    subject,
    email: `${subject}@elsewhere.test`,
    isEmailVerified: true,
    ...account,
  });
  return fixture.signIn("general", subject);
}

async function countAccounts(): Promise<number> {
  const client = new Client(fixture.keep.databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query<{ count: number }>("SELECT count(*)::int AS count FROM account");
    return rows[0]?.count ?? 0;
  } finally {
    await client.end();
  }
}

const email = (address: string, verified = true) => ({
  emails: [{ email: address, primary: true, verified, visibility: null }],
});
const refused = "Keep returned 403";
type Attempt = () => Promise<unknown>;

/** By rule: what it admits, and what is close to it and refused. */
const cases: readonly (readonly [rule: string, admitted: readonly Attempt[], refused: readonly Attempt[]])[] =
  [
    [
      "verified e-mail addresses of a domain",
      [() => signInByCode(email("a@company.test")), () => signInByOpenId({ email: "b@COMPANY.test" })],
      [
        () => signInByCode(email("c@company.test", false)),
        () => signInByOpenId({ email: "d@company.test", isEmailVerified: false }),
        () => signInByCode(email("e@sub.company.test")),
        () => signInByOpenId({ email: "f@company.test.evil.test" }),
      ],
    ],
    [
      "active members of an organization or a team",
      [
        () => signInByCode({ memberships: [{ organization: "acme", state: "active" }] }),
        () => signInByCode({ memberships: [{ organization: "other", team: "platform", state: "active" }] }),
      ],
      [
        () => signInByCode({ memberships: [{ organization: "acme", state: "pending" }] }),
        () => signInByCode({ memberships: [{ organization: "acme", state: "blocked" }] }),
        () => signInByCode({ memberships: [{ organization: "acme-labs", state: "active" }] }),
        () => signInByCode({ memberships: [{ organization: "other", state: "active" }] }),
        () => signInByCode({ memberships: [{ organization: "other", team: "platform", state: "pending" }] }),
        () =>
          signInByCode({ memberships: [{ organization: "other", team: "platform-two", state: "active" }] }),
      ],
    ],
    [
      "people of a group",
      [
        () => signInByOpenId({ groups: ["engineering"] }),
        () =>
          signInByOpenId({
            groups: [...Array.from({ length: 199 }, (_, each) => `g${each}`), "engineering"],
          }),
      ],
      [
        () => signInByOpenId({ groups: [] }),
        () => signInByOpenId({}),
        () => signInByOpenId({ groups: ["Engineering", "engineering-2"] }),
        () =>
          signInByOpenId({
            groups: [...Array.from({ length: 200 }, (_, each) => `g${each}`), "engineering"],
          }),
      ],
    ],
    ["listed identities", [() => signInByCode({}, 777)], [() => signInByOpenId({}, "777")]],
    ["named operators", [() => signInByOpenId({}, "900")], [() => signInByCode({}, 900)]],
  ];

let tested = 0;

test.each(cases)(
  "%s are admitted, and others get neither an account nor a session",
  {
    timeout: 120_000,
  },
  async (_rule, admitted, refusals) => {
    for (const attempt of refusals) {
      const before = await countAccounts();
      await expect(attempt()).rejects.toThrow(refused);
      expect(await countAccounts()).toBe(before);
      tested += 1;
    }
    for (const attempt of admitted) {
      const before = await countAccounts();
      await attempt();
      expect(await countAccounts()).toBe(before + 1);
      tested += 1;
    }
  },
);

test("every case of every rule was tested", () => {
  const count = (index: 1 | 2) => cases.reduce((sum, each) => sum + each[index].length, 0);
  const needed = count(1) + count(2);
  expect(tested).toBe(needed);
  recordFigure({
    claim: "teams 3",
    text: `${cases.length} rules of admission: ${count(1)} sign-ins admitted, ${count(2)} close to them refused without an account`,
    counted: { reached: tested, needed },
  });
});

test("a refusal says what to do with the person's own identity, and the log says why without naming it", async () => {
  const id = (ids += 1);
  await expect(signInByCode({}, id)).rejects.toThrow(
    `This Keep does not admit you. Ask its operator to admit your identity, code-hosting:${id}, and sign in again.`,
  );
  const page = String(await signInByOpenId({}).catch((error: unknown) => error));
  for (const rule of ["company.test", "acme", "platform", "engineering", "777", "900"])
    expect(page.toLowerCase().replaceAll(/general:\d+|keep returned \d+/gu, "")).not.toContain(rule);
  const lines = fixture.keep.logLines.filter((line) => line.includes("not-admitted"));
  expect(lines.at(-1)).toContain('"refusal":"groups-missing"');
  expect(lines.join("\n")).not.toContain(`code-hosting:${id}`);
});

test("a membership that ended ends the sessions at the next sign-in, and another identity's remain", async () => {
  const memberships = [{ organization: "acme", state: "active" }] as const;
  const id = (ids += 1);
  const member = await signInByCode({ memberships }, id);
  const accountId = (await member.account()).id;
  await expect(signInByCode({ memberships: [] }, id)).rejects.toThrow(refused);
  expect(await member.isSignedIn()).toBe(false);
  const again = await signInByCode({ memberships }, id);
  expect((await again.account()).id).toBe(accountId);
  const page = await readAs<{ items: { body: { type: string; reason?: string } }[] }>(
    await again.request("/api/secrets/audit?type=sign-in-refused"),
  );
  expect(page.items.map(({ body }) => body.reason)).toEqual(["no-rule-admits"]);
});

test("a membership that ended does not make a session fresh", async () => {
  const id = (ids += 1);
  const memberships = [{ organization: "acme", state: "active" }] as const;
  const member = await signInByCode({ memberships }, id);
  const confirm = async () => {
    const response = await member.request("/auth/confirm/code-hosting", { method: "POST" });
    const location = response.headers.get("location") ?? "";
    return member.followCallback(await fixture.authenticateAt("code-hosting", location, `login-${id}`));
  };
  expect((await confirm()).status).toBe(303);
  fixture.codeHosting.putAccount({ id, login: `login-${id}`, name: null, emails: [], memberships: [] });
  expect((await confirm()).status).toBe(403);
  expect(await member.isSignedIn()).toBe(false);
});

test("operators sign in although no rule admits them, and a named one is an operator at once", async () => {
  const named = await signInByOpenId({}, "900");
  expect((await named.request("/api/operator/accounts")).status).toBe(200);
  const id = (ids += 1);
  const memberships = [{ organization: "acme", state: "active" }] as const;
  const member = await signInByCode({ memberships }, id);
  expect((await member.request("/api/operator/accounts")).status).toBe(403);
  const accountId = (await member.account()).id;
  await fixture.keep.database.inAccount(accountId, (transaction) =>
    changeOperator(transaction, { accountId, isOperator: true }, fixture.keep.services),
  );
  await signInByCode({ memberships: [] }, id);
  expect(await member.isSignedIn()).toBe(true);
});

test("the scope read:org is requested only with rules for organizations", async () => {
  const location = await createFakeBrowser(fixture.keep).startSignIn("code-hosting");
  expect(location.searchParams.get("scope")).toBe("user:email read:org");
  await using open = await startKeepWithProviders();
  const plain = await createFakeBrowser(open.keep).startSignIn("code-hosting");
  expect(plain.searchParams.get("scope")).toBe("user:email");
});

test("with invitations, accounts that exist and named operators sign in, and nobody else", {
  timeout: 120_000,
}, async () => {
  await using open = await startKeepWithProviders();
  const accountId = (await (await open.signIn("general", "101")).account()).id;
  const closed = await open.addNode({ admission: "invitation", operators: "general:901" });
  await expect(open.signIn("code-hosting", "first", closed)).rejects.toThrow("does not admit you");
  expect((await (await open.signIn("general", "101", closed)).account()).id).toBe(accountId);
  open.general.putAccount({ subject: "901", email: "o@elsewhere.test", isEmailVerified: true });
  const operator = await open.signIn("general", "901", closed);
  expect((await operator.request("/api/operator/accounts")).status).toBe(200);
});

test.each([
  ["rules without a rule", { admission: "rules" }, "admission-without-rules"],
  ["a rule that is not applied", { allowedEmailDomains: "company.test" }, "admission-rules-unused"],
  [
    "a rule with invitations",
    { admission: "invitation", allowedIdentities: "general:1" },
    "admission-rules-unused",
  ],
])("%s is rejected at start", async (_name, wrong, kind) => {
  await expect(startKeepWithProviders({ settings: wrong })).rejects.toMatchObject({ failure: { kind } });
});
