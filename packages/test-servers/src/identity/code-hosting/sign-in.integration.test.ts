import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
  fetchProtectedResource,
  randomPKCECodeVerifier,
  randomState,
} from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { application } from "../relying-application.ts";
import { privatePerson, publicPerson, unverifiedPerson } from "./example-accounts.ts";
import { type CodeHostingProvider, startCodeHostingProvider } from "./start-code-hosting-provider.ts";

const registered = {
  clientId: application.id,
  clientSecret: application.secret,
  callbackUrl: application.callback,
};
const everyone = { accounts: [privatePerson, publicPerson, unverifiedPerson], applications: [registered] };

let provider: CodeHostingProvider;
beforeAll(async () => {
  provider = await startCodeHostingProvider(everyone);
});
afterAll(() => provider[Symbol.asyncDispose]());

test("a real client signs in with PKCE and state and reads who it was from the API", async () => {
  const { configuration, url, checks } = await beginWithRealClient();
  const callback = await provider.signInAs(url, { account: "first" });
  const tokens = await authorizationCodeGrant(configuration, callback, checks);
  const user = new URL("/user", provider.apiUrl);
  const answer = await fetchProtectedResource(configuration, tokens.access_token, user, "GET");
  expect(await answer.json()).toMatchObject({ id: 201, login: "first" });
});

test("there is no ID token, so a client that insists on one refuses", async () => {
  const { configuration, url, checks } = await beginWithRealClient();
  const callback = await provider.signInAs(url, { account: "first" });
  const insisting = authorizationCodeGrant(configuration, callback, { ...checks, idTokenExpected: true });
  await expect(insisting).rejects.toMatchObject({ code: "OAUTH_INVALID_RESPONSE" });
});

test("an error of the token endpoint comes with HTTP 200, so a real client sees an answer without a token", async () => {
  const { configuration, url, checks } = await beginWithRealClient();
  const callback = await provider.signInAs(url, { account: "first" });
  callback.searchParams.set("code", "never-issued");
  await expect(authorizationCodeGrant(configuration, callback, checks)).rejects.toMatchObject({
    code: "OAUTH_INVALID_RESPONSE",
    cause: { cause: { body: { error: "bad_verification_code" } } },
  });
});

test("a person who refuses comes back with access_denied, the state and no code", async () => {
  const callback = await provider.signInAs(authorizationUrl({ state: "kept" }), {
    account: "first",
    decision: "deny",
  });
  expect(Object.fromEntries(callback.searchParams)).toMatchObject({ error: "access_denied", state: "kept" });
  expect(callback.searchParams.has("code")).toBe(false);
});

test("an unknown account is not signed in, and an unknown application finds no page", async () => {
  await expect(provider.signInAs(authorizationUrl(), { account: "nobody" })).rejects.toThrow(
    "no such account",
  );
  await expect(
    provider.signInAs(authorizationUrl({ client_id: "stranger" }), { account: "first" }),
  ).rejects.toThrow("answered 404");
});

test("a foreign redirect_uri sends the person to the registered callback with redirect_uri_mismatch", async () => {
  const foreign = authorizationUrl({ redirect_uri: "http://elsewhere.example/callback", state: "kept" });
  const callback = await provider.signInAs(foreign, { account: "first" });
  expect(`${callback.origin}${callback.pathname}`).toBe(application.callback);
  expect(Object.fromEntries(callback.searchParams)).toMatchObject({
    error: "redirect_uri_mismatch",
    state: "kept",
  });
});

test("the token endpoint answers as a form, and as JSON when Accept asks", async () => {
  const form = await exchange({ code: await signInForCode() }, { accept: "*/*" });
  expect(form.headers.get("content-type")).toContain("application/x-www-form-urlencoded");
  const fields = new URLSearchParams(await form.text());
  expect(fields.get("access_token")).toMatch(/^gho_/);
  expect(fields.get("token_type")).toBe("bearer");
  const json = await exchange({ code: await signInForCode() }, { accept: "application/json" });
  expect(json.headers.get("content-type")).toContain("application/json");
  expect(await json.json()).toEqual({
    access_token: expect.stringMatching(/^gho_/),
    scope: "user:email",
    token_type: "bearer",
  });
  const refused = await exchange({ code: "never-issued" }, { accept: "*/*" });
  expect(refused.status).toBe(200);
  expect(new URLSearchParams(await refused.text()).get("error")).toBe("bad_verification_code");
});

test("scopes are asked for with spaces and granted with commas, without those another one includes", async () => {
  const code = await signInForCode({ scope: "repo user user:email repo" });
  expect(await exchangeForJson({ code })).toMatchObject({ scope: "repo,user" });
});

test("wrong client credentials are reported with HTTP 200, and the code stays good for the right ones", async () => {
  const code = await signInForCode();
  expect(await exchangeForJson({ code, client_secret: "wrong" })).toMatchObject({
    error: "incorrect_client_credentials",
  });
  expect(await exchangeForJson({ code, client_id: "stranger" })).toMatchObject({
    error: "incorrect_client_credentials",
  });
  expect(await exchangeForJson({ code })).toHaveProperty("access_token");
});

test("another redirect_uri than the one signed in with is a mismatch; none at all passes", async () => {
  const code = await signInForCode();
  const redirect_uri = `${application.callback}/below`;
  expect(await exchangeForJson({ code, redirect_uri })).toMatchObject({ error: "redirect_uri_mismatch" });
  expect(await exchangeForJson({ code })).toHaveProperty("access_token");
});

test("a code is worth nothing the second time", async () => {
  const code = await signInForCode();
  expect(await exchangeForJson({ code })).toHaveProperty("access_token");
  expect(await exchangeForJson({ code })).toMatchObject({ error: "bad_verification_code" });
});

test("a code of another application is worth nothing", async () => {
  provider.registerApplication({ ...registered, clientId: "other-application" });
  const code = await signInForCode();
  expect(await exchangeForJson({ code, client_id: "other-application" })).toMatchObject({
    error: "bad_verification_code",
  });
  expect(await exchangeForJson({ code })).toHaveProperty("access_token");
});

test("an expired code is worth nothing", async () => {
  await using hasty = await startCodeHostingProvider({ ...everyone, codeLifetimeSeconds: 0 });
  const url = authorizationUrl().href.replace(provider.origin, hasty.origin);
  const callback = await hasty.signInAs(url, { account: "first" });
  const code = callback.searchParams.get("code") ?? "";
  expect(await exchangeForJson({ code }, hasty)).toMatchObject({ error: "bad_verification_code" });
});

test("PKCE is honoured when sent and not missed when absent", async () => {
  const verifier = randomPKCECodeVerifier();
  const asked = {
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  const code = await signInForCode(asked);
  expect(await exchangeForJson({ code })).toMatchObject({ error: "bad_verification_code" });
  expect(await exchangeForJson({ code, code_verifier: randomPKCECodeVerifier() })).toMatchObject({
    error: "bad_verification_code",
  });
  expect(await exchangeForJson({ code, code_verifier: verifier })).toHaveProperty("access_token");
  expect(await exchangeForJson({ code: await signInForCode() })).toHaveProperty("access_token");
});

test("PKCE knows no other method than S256", async () => {
  const plain = authorizationUrl({ code_challenge: "a".repeat(43), code_challenge_method: "plain" });
  const callback = await provider.signInAs(plain, { account: "first" });
  expect(callback.searchParams.get("error")).toBe("invalid_request");
});

test("a person without a verified primary address gets no token, unless the server is a laxer lookalike", async () => {
  const callback = await provider.signInAs(authorizationUrl(), { account: "third" });
  const code = callback.searchParams.get("code") ?? "";
  expect(await exchangeForJson({ code })).toMatchObject({ error: "unverified_user_email" });
  await using lax = await startCodeHostingProvider({ ...everyone, allowsUnverifiedEmail: true });
  const url = authorizationUrl().href.replace(provider.origin, lax.origin);
  const laxCallback = await lax.signInAs(url, { account: "third" });
  const laxCode = laxCallback.searchParams.get("code") ?? "";
  expect(await exchangeForJson({ code: laxCode }, lax)).toHaveProperty("access_token");
});

async function beginWithRealClient() {
  const metadata = {
    issuer: provider.origin,
    authorization_endpoint: provider.authorizationEndpoint,
    token_endpoint: provider.tokenEndpoint,
  };
  const { id, secret, callback } = application;
  const configuration = new Configuration(metadata, id, undefined, ClientSecretPost(secret));
  allowInsecureRequests(configuration);
  const checks = { pkceCodeVerifier: randomPKCECodeVerifier(), expectedState: randomState() };
  const url = buildAuthorizationUrl(configuration, {
    redirect_uri: callback,
    scope: "user:email",
    state: checks.expectedState,
    code_challenge: await calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  return { configuration, url, checks };
}

function authorizationUrl(changes: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(provider.authorizationEndpoint);
  const parameters = { client_id: application.id, redirect_uri: application.callback, scope: "user:email" };
  url.search = new URLSearchParams({ ...parameters, ...changes }).toString();
  return url;
}

async function signInForCode(changes: Readonly<Record<string, string>> = {}): Promise<string> {
  const callback = await provider.signInAs(authorizationUrl(changes), { account: "first" });
  return callback.searchParams.get("code") ?? "";
}

async function exchangeForJson(
  parameters: Readonly<Record<string, string>>,
  at = provider,
): Promise<unknown> {
  const answer = await exchange(parameters, { accept: "application/json", at });
  expect(answer.status).toBe(200);
  return answer.json();
}

function exchange(
  parameters: Readonly<Record<string, string>>,
  { accept, at = provider }: { accept: string; at?: CodeHostingProvider },
): Promise<Response> {
  const credentials = { client_id: application.id, client_secret: application.secret };
  const body = new URLSearchParams({ ...credentials, ...parameters });
  return fetch(at.tokenEndpoint, { method: "POST", headers: { accept }, body });
}
