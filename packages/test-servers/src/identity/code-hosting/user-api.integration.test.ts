import { once } from "node:events";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { application } from "../relying-application.ts";
import { privatePerson, publicPerson } from "./example-accounts.ts";
import { type CodeHostingProvider, startCodeHostingProvider } from "./start-code-hosting-provider.ts";

const options = {
  accounts: [privatePerson, publicPerson],
  applications: [
    { clientId: application.id, clientSecret: application.secret, callbackUrl: application.callback },
  ],
};

let provider: CodeHostingProvider;
beforeAll(async () => {
  provider = await startCodeHostingProvider(options);
});
afterAll(() => provider[Symbol.asyncDispose]());

test("a user has an id, a login and a name, and an e-mail address only if it is public", async () => {
  const privateProfile = await getWithToken("/user", await signIn("first"));
  expect(await privateProfile.json()).toMatchObject({
    id: 201,
    login: "first",
    name: "First Account",
    email: null,
  });
  const publicProfile = await getWithToken("/user", await signIn("second"));
  expect(await publicProfile.json()).toMatchObject({
    id: 202,
    login: "second",
    name: null,
    email: "second@example.org",
  });
});

test("e-mail addresses are listed with the scope user:email or the wider user", async () => {
  for (const scope of ["user:email", "user"]) {
    const response = await getWithToken("/user/emails", await signIn("first", scope));
    expect(await response.json()).toEqual(privatePerson.emails);
  }
});

test("without the scope the e-mail endpoint returns 404, and the headers name the missing scope", async () => {
  const response = await getWithToken("/user/emails", await signIn("first", "repo"));
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ message: "Not Found", status: "404" });
  expect(response.headers.get("x-oauth-scopes")).toBe("repo");
  expect(response.headers.get("x-accepted-oauth-scopes")).toBe("user, user:email");
});

test("X-OAuth-Scopes lists the granted scopes, separated by a comma and a space", async () => {
  const response = await getWithToken("/user", await signIn("first", "repo user:email"));
  expect(response.headers.get("x-oauth-scopes")).toBe("repo, user:email");
});

test("both authorization schemes are accepted, and a token in the URL is not", async () => {
  const token = await signIn("first");
  for (const scheme of ["Bearer", "bearer", "token"]) {
    expect((await getWithToken("/user", token, scheme)).status).toBe(200);
  }
  expect((await fetch(`${provider.apiUrl}/user?access_token=${token}`)).status).toBe(401);
});

test("an invalid token and a missing one are rejected with 401 and JSON", async () => {
  const bad = await getWithToken("/user", "gho_never_issued");
  expect([bad.status, await bad.json()]).toMatchObject([401, { message: "Bad credentials" }]);
  const missing = await fetch(`${provider.apiUrl}/user`);
  expect([missing.status, await missing.json()]).toMatchObject([401, { message: "Requires authentication" }]);
});

test("a revoked token is rejected", async () => {
  const token = await signIn("second");
  expect((await getWithToken("/user", token)).status).toBe(200);
  provider.revokeTokensOf(202);
  expect((await getWithToken("/user", token)).status).toBe(401);
});

test("a request without a User-Agent is forbidden, one with it is allowed", async () => {
  const authorization = `Bearer ${await signIn("first")}`;
  expect(await getWithoutDefaults({ authorization })).toMatchObject({
    status: 403,
    body: expect.stringContaining("User-Agent"),
  });
  expect(await getWithoutDefaults({ authorization, "user-agent": "test" })).toMatchObject({ status: 200 });
});

test("rate limit headers count down until requests are rejected", async () => {
  await using strict = await startCodeHostingProvider({ ...options, hourlyRateLimit: 2 });
  const token = await signIn("first", "user:email", strict);
  const responses = [];
  for (let round = 0; round < 3; round += 1) {
    responses.push(await fetch(`${strict.apiUrl}/user`, { headers: { authorization: `Bearer ${token}` } }));
  }
  expect(responses.map((response) => response.status)).toEqual([200, 200, 403]);
  expect(responses.map((response) => response.headers.get("x-ratelimit-remaining"))).toEqual(["1", "0", "0"]);
  expect(responses[0]?.headers.get("x-ratelimit-limit")).toBe("2");
  expect(Number(responses[0]?.headers.get("x-ratelimit-reset"))).toBeGreaterThan(Date.now() / 1000);
  expect(await responses[2]?.json()).toMatchObject({ message: "API rate limit exceeded for user ID 201." });
});

test("a login can move to another user, who has a different id", async () => {
  await using renamed = await startCodeHostingProvider(options);
  renamed.putAccount({ ...privatePerson, login: "first-renamed" });
  renamed.putAccount({ ...publicPerson, login: "first" });
  const token = await signIn("first", "user:email", renamed);
  const response = await fetch(`${renamed.apiUrl}/user`, { headers: { authorization: `token ${token}` } });
  expect(await response.json()).toMatchObject({ login: "first", id: 202 });
});

test("other paths are not found", async () => {
  expect((await getWithToken("/user/repos", await signIn("first"))).status).toBe(404);
});

async function signIn(account: string, scope = "user:email", at = provider): Promise<string> {
  const url = new URL(at.authorizationEndpoint);
  url.search = new URLSearchParams({ client_id: application.id, scope }).toString();
  const callback = await at.signInAs(url, { account });
  const body = new URLSearchParams({
    client_id: application.id,
    client_secret: application.secret,
    code: callback.searchParams.get("code") ?? "",
  });
  const response = await fetch(at.tokenEndpoint, { method: "POST", body });
  return new URLSearchParams(await response.text()).get("access_token") ?? "";
}

function getWithToken(path: string, token: string, scheme = "Bearer"): Promise<Response> {
  return fetch(`${provider.apiUrl}${path}`, { headers: { authorization: `${scheme} ${token}` } });
}

// fetch adds a User-Agent, node:http does not.
async function getWithoutDefaults(headers: Readonly<Record<string, string>>) {
  const sent = request(`${provider.apiUrl}/user`, { headers, agent: false }).end();
  const [response] = await once(sent, "response");
  return { status: response.statusCode, body: await text(response) };
}
