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

test("a person has a number, a login and a name, and an address only when it is public", async () => {
  const discreet = await ask("/user", await signIn("first"));
  expect(await discreet.json()).toMatchObject({
    id: 201,
    login: "first",
    name: "First Account",
    email: null,
  });
  const open = await ask("/user", await signIn("second"));
  expect(await open.json()).toMatchObject({
    id: 202,
    login: "second",
    name: null,
    email: "second@example.org",
  });
});

test("addresses are listed with the scope user:email or the wider user", async () => {
  for (const scope of ["user:email", "user"]) {
    const answer = await ask("/user/emails", await signIn("first", scope));
    expect(await answer.json()).toEqual(privatePerson.emails);
  }
});

test("without the scope addresses are not found, and the headers tell which scope was missing", async () => {
  const answer = await ask("/user/emails", await signIn("first", "repo"));
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({ message: "Not Found", status: "404" });
  expect(answer.headers.get("x-oauth-scopes")).toBe("repo");
  expect(answer.headers.get("x-accepted-oauth-scopes")).toBe("user, user:email");
});

test("the granted scopes are named in X-OAuth-Scopes with a comma and a space", async () => {
  const answer = await ask("/user", await signIn("first", "repo user:email"));
  expect(answer.headers.get("x-oauth-scopes")).toBe("repo, user:email");
});

test("both words before a token are accepted, and a token in the address is not", async () => {
  const token = await signIn("first");
  for (const word of ["Bearer", "bearer", "token"]) {
    expect((await ask("/user", token, word)).status).toBe(200);
  }
  expect((await fetch(`${provider.apiUrl}/user?access_token=${token}`)).status).toBe(401);
});

test("a bad token and a missing one are refused with 401 and JSON", async () => {
  const bad = await ask("/user", "gho_never_issued");
  expect([bad.status, await bad.json()]).toMatchObject([401, { message: "Bad credentials" }]);
  const missing = await fetch(`${provider.apiUrl}/user`);
  expect([missing.status, await missing.json()]).toMatchObject([401, { message: "Requires authentication" }]);
});

test("a revoked token is a bad token", async () => {
  const token = await signIn("second");
  expect((await ask("/user", token)).status).toBe(200);
  provider.revokeTokensOf(202);
  expect((await ask("/user", token)).status).toBe(401);
});

test("a request without User-Agent is forbidden, with it allowed", async () => {
  const authorization = `Bearer ${await signIn("first")}`;
  expect(await askPlainly({ authorization })).toMatchObject({
    status: 403,
    body: expect.stringContaining("User-Agent"),
  });
  expect(await askPlainly({ authorization, "user-agent": "test" })).toMatchObject({ status: 200 });
});

test("rate limit headers count down to a refusal", async () => {
  await using strict = await startCodeHostingProvider({ ...options, hourlyRateLimit: 2 });
  const token = await signIn("first", "user:email", strict);
  const answers = [];
  for (let round = 0; round < 3; round += 1) {
    answers.push(await fetch(`${strict.apiUrl}/user`, { headers: { authorization: `Bearer ${token}` } }));
  }
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 403]);
  expect(answers.map((answer) => answer.headers.get("x-ratelimit-remaining"))).toEqual(["1", "0", "0"]);
  expect(answers[0]?.headers.get("x-ratelimit-limit")).toBe("2");
  expect(Number(answers[0]?.headers.get("x-ratelimit-reset"))).toBeGreaterThan(Date.now() / 1000);
  expect(await answers[2]?.json()).toMatchObject({ message: "API rate limit exceeded for user ID 201." });
});

test("a login can pass to another person, whose number is another one", async () => {
  await using town = await startCodeHostingProvider(options);
  town.putAccount({ ...privatePerson, login: "first-renamed" });
  town.putAccount({ ...publicPerson, login: "first" });
  const token = await signIn("first", "user:email", town);
  const answer = await fetch(`${town.apiUrl}/user`, { headers: { authorization: `token ${token}` } });
  expect(await answer.json()).toMatchObject({ login: "first", id: 202 });
});

test("anything else is not found", async () => {
  expect((await ask("/user/repos", await signIn("first"))).status).toBe(404);
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
  const answer = await fetch(at.tokenEndpoint, { method: "POST", body });
  return new URLSearchParams(await answer.text()).get("access_token") ?? "";
}

function ask(path: string, token: string, word = "Bearer"): Promise<Response> {
  return fetch(`${provider.apiUrl}${path}`, { headers: { authorization: `${word} ${token}` } });
}

// fetch adds a User-Agent of its own, node:http does not.
async function askPlainly(headers: Readonly<Record<string, string>>) {
  const sent = request(`${provider.apiUrl}/user`, { headers, agent: false }).end();
  const [answer] = await once(sent, "response");
  return { status: answer.statusCode, body: await text(answer) };
}
