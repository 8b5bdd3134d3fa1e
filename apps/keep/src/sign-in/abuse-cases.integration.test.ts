import { recordFigure } from "@hearth-and-keep/figures";
import { type Forgery, startHostileIdentityProvider } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFakeBrowser, type FakeBrowser } from "../test/fake-browser.ts";
import {
  type FakeProvider,
  fakeClient,
  type ProviderOverrides,
  startFakeProvider,
  writeJson,
} from "../test/start-fake-provider.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";
import cases from "./fixtures/abuse-cases.json" with { type: "json" };

const needed = 40;
const passed = new Set<string>();
const cleanup = new AsyncDisposableStack();
afterAll(() => cleanup.disposeAsync());

function casesOf(group: string): readonly { readonly name: string; readonly attack: string }[] {
  return cases.filter((each) => each.group === group);
}

/** The number of sessions, which an attack must not change. */
async function countSessions({ database }: TestKeep): Promise<number> {
  const [row] = await database.query<{ count: number }>({
    text: "SELECT count(*)::int AS count FROM session_route",
  });
  return row?.count ?? 0;
}

/** The effects of an attack: whether it was refused, and any session cookies and sessions it created. */
async function outcomeOf(keep: TestKeep, attack: () => Promise<Response>) {
  const before = await countSessions(keep);
  const response = await attack();
  const cookies = response.headers.getSetCookie().filter((line) => line.startsWith("session="));
  const isRefused = response.status >= 400 && response.status !== 500;
  return { isRefused, cookies, newSessions: (await countSessions(keep)) - before };
}

const refused = { isRefused: true, cookies: [], newSessions: 0 };

async function finishSignIn(browser: FakeBrowser, callback: URL) {
  const { status } = await browser.followCallback(callback);
  return { status, isSignedIn: await browser.isSignedIn() };
}

const signedIn = { status: 303, isSignedIn: true };

const hour = 3600;
const huge = "x".repeat(2 * 1024 * 1024);
type ResponseWriter = NonNullable<ProviderOverrides["handlers"]>[string];
const redirect: ResponseWriter = (response) => response.writeHead(302, { location: "/elsewhere" }).end();
const page: ResponseWriter = (response) =>
  response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><p>Welcome");
const failing =
  (status: number, body: unknown): ResponseWriter =>
  (response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
const person = (id: unknown): ProviderOverrides => ({
  handlers: { "/user": (response) => writeJson(response, { id, login: "somebody", name: null }) },
});
const exchange = (body: unknown): ProviderOverrides => ({
  handlers: { "/login/oauth/access_token": (response) => writeJson(response, body) },
});

const tokenOverrides: Readonly<Record<string, ProviderOverrides>> = {
  "issued-in-the-future": {
    claims: (claims) => ({ ...claims, iat: Math.floor(Date.now() / 1000) + hour, exp: Date.now() }),
  },
  "signed-with-the-client-secret": { secret: fakeClient.secret },
  "one-audience-foreign-party": { claims: (claims) => ({ ...claims, azp: "another-application" }) },
  "subject-with-control-characters": { claims: (claims) => ({ ...claims, sub: "301\u0000" }) },
  "subject-too-long": { claims: (claims) => ({ ...claims, sub: "3".repeat(256) }) },
  "subject-is-a-number": { claims: (claims) => ({ ...claims, sub: 301 }) },
  "key-url-in-header": {
    usesUnpublishedKey: true,
    header: (header) => ({ ...header, jku: "https://elsewhere.example/keys" }),
  },
  "unknown-critical-header": { header: (header) => ({ ...header, crit: ["b64"], b64: false }) },
  "code-rejected": {
    handlers: {
      "/token": failing(400, { error: "invalid_grant" }),
    },
  },
  "token-response-is-html": { handlers: { "/token": page } },
  "token-response-redirects": { handlers: { "/token": redirect } },
  "token-response-is-oversized": { handlers: { "/token": (response) => writeJson(response, { huge }) } },
  "keys-unavailable": { handlers: { "/keys": (response) => response.writeHead(500).end() } },
};

const codeHostingOverrides: Readonly<Record<string, ProviderOverrides>> = {
  "error-with-status-200": exchange({ error: "bad_verification_code", access_token: "an-access-token" }),
  "no-access-token": exchange({ token_type: "bearer" }),
  "access-token-with-line-break": exchange({ access_token: "a\r\nx-forwarded-for: 127.0.0.1" }),
  "id-as-text": person("401"),
  "id-too-large": {
    handlers: {
      "/user": (response) =>
        response
          .writeHead(200, { "content-type": "application/json" })
          .end('{"id":9007199254740993,"login":"somebody"}'),
    },
  },
  "id-zero": person(0),
  "id-negative": person(-401),
  "id-fraction": person(401.5),
  "no-id": person(undefined),
  "token-rejected-by-api": {
    handlers: {
      "/user": failing(401, { id: 401, login: "somebody" }),
    },
  },
  "api-redirects": { handlers: { "/user": redirect } },
  "api-response-is-html": { handlers: { "/user": page } },
  "api-response-is-oversized": {
    handlers: { "/user": (response) => writeJson(response, { id: 401, login: "x", huge }) },
  },
  "api-hangs": { handlers: { "/user": () => undefined } },
  "provider-fails": {
    handlers: { "/login/oauth/access_token": (response) => response.writeHead(502).end("no") },
  },
  "another-issuer-named": {},
};

describe("forged responses of an OpenID Connect provider", () => {
  let provider: Awaited<ReturnType<typeof startHostileIdentityProvider>>;
  const startKeep = () =>
    startTestKeep({ settings: { generalIssuer: provider.issuer, generalClientId: "keep" } });
  let keep: TestKeep;
  beforeAll(async () => {
    provider = cleanup.use(await startHostileIdentityProvider());
    keep = cleanup.use(await startKeep());
  });

  test.each(casesOf("forgery"))(
    "$name is refused, and the same sign-in without the attack succeeds",
    async ({ name }) => {
      // Every case of this group is a forgery of the provider, which throws for unknown names.
      provider.behaveAs(name as Forgery);
      // Discovery is cached, so a forged discovery document needs a new Keep.
      const isNew = name === "wrong-discovery-issuer";
      const target = isNew ? await startKeep() : keep;
      await using ownedKeep = new AsyncDisposableStack();
      if (isNew) ownedKeep.use(target);
      const outcome = await outcomeOf(target, async () => {
        const browser = createFakeBrowser(target);
        const started = await browser.request("/auth/login/general", { method: "POST" });
        const location = started.headers.get("location");
        return location === null ? started : browser.followCallback(await provider.signIn(location));
      });
      expect(outcome).toEqual(refused);
      provider.behaveAs("honest");
      const browser = createFakeBrowser(target);
      expect(
        await finishSignIn(browser, await provider.signIn(await browser.startSignIn("general"))),
      ).toEqual(signedIn);
      passed.add(name);
    },
  );
});

type Kind = "general" | "code-hosting";

describe("invalid responses of either provider", () => {
  let provider: FakeProvider;
  let keep: TestKeep;
  beforeAll(async () => {
    provider = cleanup.use(await startFakeProvider());
    keep = cleanup.use(
      await startTestKeep({
        settings: {
          generalIssuer: provider.origin,
          generalClientId: fakeClient.id,
          generalClientSecret: fakeClient.secret,
          codeHostingUrl: provider.origin,
          codeHostingApiUrl: provider.origin,
          codeHostingClientId: fakeClient.id,
          codeHostingClientSecret: fakeClient.secret,
        },
      }),
    );
  });

  /** The attack, then the same sign-in without it. */
  async function runAttackAndControl(
    kind: Kind,
    overrides: ProviderOverrides,
    change: Readonly<Record<string, string>> = {},
  ) {
    provider.override(overrides);
    const attack = await outcomeOf(keep, async () => {
      const browser = createFakeBrowser(keep);
      return browser.followCallback(provider.callbackFor(await browser.startSignIn(kind), change));
    });
    provider.override({});
    const browser = createFakeBrowser(keep);
    return {
      attack,
      control: await finishSignIn(browser, provider.callbackFor(await browser.startSignIn(kind))),
    };
  }

  // The provider's keys are cached, so the case without them runs first.
  const tokenCases = Map.groupBy(casesOf("id-token"), ({ name }) => name === "keys-unavailable");
  test.each([...(tokenCases.get(true) ?? []), ...(tokenCases.get(false) ?? [])])(
    "$name is refused, and the same sign-in without the attack succeeds",
    async ({ name }) => {
      const { attack, control } = await runAttackAndControl("general", caseFor(tokenOverrides, name));
      expect([attack, control]).toEqual([refused, signedIn]);
      passed.add(name);
    },
  );

  test.each(casesOf("code-hosting"))(
    "$name is refused, and the same sign-in without the attack succeeds",
    async ({ name }) => {
      const change: Record<string, string> =
        name === "another-issuer-named" ? { iss: "https://elsewhere.example" } : {};
      const { attack, control } = await runAttackAndControl(
        "code-hosting",
        caseFor(codeHostingOverrides, name),
        change,
      );
      expect([attack, control]).toEqual([refused, signedIn]);
      passed.add(name);
    },
  );
});

function caseFor<Value>(values: Readonly<Record<string, Value>>, name: string): Value {
  const value = values[name];
  if (value === undefined) throw new Error(`The case "${name}" is not implemented`);
  return value;
}

describe("manipulated browser requests", () => {
  let fixture: KeepWithProviders;
  beforeAll(async () => {
    fixture = cleanup.use(await startKeepWithProviders());
  });

  /** A browser that has authenticated at the provider, and its callback URL, which was not yet requested. */
  async function authenticate(kind: Kind = "general", account = "first@example.com") {
    const browser = createFakeBrowser(fixture.keep);
    const callback = await fixture.authenticateAt(kind, await browser.startSignIn(kind), account);
    return { browser, callback };
  }
  const login = (headers: Readonly<Record<string, string>>) =>
    fixture.keep.request("/auth/login/general", { method: "POST", headers });
  const withParameters = async (change: (parameters: URLSearchParams) => void) => {
    const { browser, callback } = await authenticate();
    change(callback.searchParams);
    return browser.followCallback(callback);
  };

  const attacks: Readonly<Record<string, () => Promise<Response>>> = {
    "no-binder": async () => createFakeBrowser(fixture.keep).followCallback((await authenticate()).callback),
    "binder-of-another-browser": async () =>
      (await authenticate()).browser.followCallback((await authenticate()).callback),
    "two-binders": async () => {
      const { browser, callback } = await authenticate();
      const cookie = `login=${browser.cookies.get("login")}; login=${"A".repeat(43)}`;
      return browser.request(callback.pathname + callback.search, { cookie });
    },
    "callback-replayed": async () => {
      const { browser, callback } = await authenticate();
      const binder = `login=${browser.cookies.get("login")}`;
      await browser.followCallback(callback);
      await browser.request("/auth/logout", { method: "POST" });
      return browser.request(callback.pathname + callback.search, { cookie: binder });
    },
    "callback-after-ten-minutes": async () => {
      const { browser, callback } = await authenticate();
      await fixture.keep.database.query({
        text: "UPDATE sign_in_attempt SET expires_at = now() - interval '1 second' WHERE used_at IS NULL",
      });
      return browser.followCallback(callback);
    },
    "callback-of-the-other-provider": async () => {
      const { browser, callback } = await authenticate();
      return browser.followCallback(new URL(`/auth/callback/code-hosting${callback.search}`, callback));
    },
    "code-of-another-sign-in": async () => {
      const attacker = await authenticate();
      return withParameters((parameters) =>
        parameters.set("code", attacker.callback.searchParams.get("code") ?? ""),
      );
    },
    "state-twice": () =>
      withParameters((parameters) => parameters.append("state", parameters.get("state") ?? "")),
    "code-twice": () => withParameters((parameters) => parameters.append("code", "another-code")),
    "no-code": () => withParameters((parameters) => parameters.delete("code")),
    "never-started": () => withParameters((parameters) => parameters.set("state", "A".repeat(43))),
    "access-denied": async () => {
      const browser = createFakeBrowser(fixture.keep);
      const decision = { account: "first@example.com", decision: "deny" } as const;
      return browser.followCallback(
        await fixture.general.signInAs(await browser.startSignIn("general"), decision),
      );
    },
    "script-in-error-description": async () => {
      const response = await withParameters((parameters) => {
        parameters.delete("code");
        parameters.set("error", "access_denied");
        parameters.set("error_description", "<script>alert(1)</script>");
      });
      expect(await response.clone().text()).not.toContain("alert(1)");
      return response;
    },
    "access-token-in-callback": () =>
      withParameters((parameters) => {
        parameters.delete("code");
        parameters.set("access_token", "another-applications-token");
      }),
    "id-token-in-callback": () => withParameters((parameters) => parameters.set("id_token", "a.b.c")),
    "login-by-link": () =>
      fixture.keep.request("/auth/login/general", { headers: { "sec-fetch-site": "none" } }),
    "login-from-another-site": () => login({ "sec-fetch-site": "cross-site" }),
    "login-from-a-sibling-site": () => login({ "sec-fetch-site": "same-site" }),
    "login-without-origin": () => login({}),
    "login-with-null-origin": () => login({ origin: "null" }),
    "login-with-another-origin": () => login({ origin: "https://elsewhere.example" }),
    "unknown-provider": () =>
      createFakeBrowser(fixture.keep).request("/auth/login/elsewhere", { method: "POST" }),
  };

  test.each(casesOf("browser"))(
    "$name is refused, and the same sign-in without the attack succeeds",
    async ({ name }) => {
      expect(await outcomeOf(fixture.keep, caseFor(attacks, name))).toEqual(refused);
      const { browser, callback } = await authenticate();
      expect(await finishSignIn(browser, callback)).toEqual(signedIn);
      passed.add(name);
    },
  );

  /** Starts linking or confirming in a signed-in browser and authenticates at the provider as this account. */
  async function reauthenticate(
    browser: FakeBrowser,
    path: "link" | "confirm",
    account: string,
  ): Promise<URL> {
    const response = await browser.request(`/auth/${path}/general`, { method: "POST" });
    return fixture.general.signInAs(response.headers.get("location") ?? "", { account });
  }

  const accountAttacks: Readonly<Record<string, (target: FakeBrowser) => Promise<Response>>> = {
    "link-finished-by-another-session": async (target) => {
      const attacker = await fixture.signIn("general", "102");
      const callback = await reauthenticate(attacker, "link", "102");
      target.cookies.set("login", attacker.cookies.get("login") ?? "");
      return target.followCallback(callback);
    },
    "link-of-another-accounts-identity": async (target) => {
      await fixture.signIn("general", "102");
      return target.followCallback(await reauthenticate(target, "link", "102"));
    },
    "confirm-as-another-person": async (target) =>
      target.followCallback(await reauthenticate(target, "confirm", "102")),
    "disabled-account": async () => {
      await setStatus("disabled");
      const { browser, callback } = await authenticate();
      return browser.followCallback(callback);
    },
  };

  async function setStatus(status: string): Promise<void> {
    const [route] = await fixture.keep.database.query<{ account_id: string }>({
      text: "SELECT account_id FROM identity_route WHERE issuer = $1 AND subject = '101'",
      values: [fixture.general.issuer],
    });
    await fixture.keep.database.inAccount(route?.account_id ?? "", (transaction) =>
      transaction.query({ text: "UPDATE account SET status = $1", values: [status] }),
    );
  }

  test.each(casesOf("account"))(
    "$name is refused, and the same request without the attack succeeds",
    async ({ name }) => {
      const target = await fixture.signIn("general", "101");
      const bystander = await fixture.signIn("general", "102");
      const attack = caseFor(accountAttacks, name);
      const before = await target.account();
      const response = await attack(target);
      expect([response.status, response.headers.getSetCookie()]).toEqual([403, []]);
      await setStatus("active");
      const again = await fixture.signIn("general", "101");
      const after = await again.account();
      expect(after.identities.map(({ id }) => id)).toEqual(before.identities.map(({ id }) => id));
      const purpose = name.startsWith("link") ? "link" : "confirm";
      expect((await again.followCallback(await reauthenticate(again, purpose, "101"))).status).toBe(303);
      expect([await again.isSignedIn(), await bystander.isSignedIn()]).toEqual([true, true]);
      passed.add(name);
    },
  );
});

test("every abuse case of the reviewed list was tested, and there are at least forty", () => {
  expect([...passed].toSorted()).toEqual(cases.map(({ name }) => name).toSorted());
  expect(passed.size).toBeGreaterThanOrEqual(needed);
  recordFigure({
    claim: "keep 3",
    text: `${passed.size} of ${cases.length} abuse cases refused without a session, each succeeding without the attack`,
    counted: { reached: passed.size, needed },
  });
});
