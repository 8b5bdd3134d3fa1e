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

test("a real client signs in with PKCE and state and reads the user from the API", async () => {
  const { configuration, url, checks } = await beginWithRealClient();
  const callback = await provider.signInAs(url, { account: "first" });
  const tokens = await authorizationCodeGrant(configuration, callback, checks);
  const user = new URL("/user", provider.apiUrl);
  const response = await fetchProtectedResource(configuration, tokens.access_token, user, "GET");
  expect(await response.json()).toMatchObject({ id: 201, login: "first" });
});

test("there is no ID token, so a client that requires one fails", async () => {
  const { configuration, url, checks } = await beginWithRealClient();
  const callback = await provider.signInAs(url, { account: "first" });
  const strictGrant = authorizationCodeGrant(configuration, callback, { ...checks, idTokenExpected: true });
  await expect(strictGrant).rejects.toMatchObject({ code: "OAUTH_INVALID_RESPONSE" });
});

test("an error of the token endpoint has HTTP status 200, so a real client sees a response without a token", async () => {
  const { configuration, url, checks } = await beginWithRealClient();
  const callback = await provider.signInAs(url, { account: "first" });
  callback.searchParams.set("code", "never-issued");
  await expect(authorizationCodeGrant(configuration, callback, checks)).rejects.toMatchObject({
    code: "OAUTH_INVALID_RESPONSE",
    cause: { cause: { body: { error: "bad_verification_code" } } },
  });
});

test("a user who denies access is redirected with access_denied, the state and no code", async () => {
  const callback = await provider.signInAs(authorizationUrl({ state: "kept" }), {
    account: "first",
    decision: "deny",
  });
  expect(Object.fromEntries(callback.searchParams)).toMatchObject({ error: "access_denied", state: "kept" });
  expect(callback.searchParams.has("code")).toBe(false);
});

test("an unknown account is not signed in, and an unknown application gets 404", async () => {
  await expect(provider.signInAs(authorizationUrl(), { account: "nobody" })).rejects.toThrow(
    "no such account",
  );
  await expect(
    provider.signInAs(authorizationUrl({ client_id: "unknown" }), { account: "first" }),
  ).rejects.toThrow("responded with 404");
});

test("an unregistered redirect_uri redirects the user to the registered callback with redirect_uri_mismatch", async () => {
  const unregistered = authorizationUrl({ redirect_uri: "http://elsewhere.example/callback", state: "kept" });
  const callback = await provider.signInAs(unregistered, { account: "first" });
  expect(`${callback.origin}${callback.pathname}`).toBe(application.callback);
  expect(Object.fromEntries(callback.searchParams)).toMatchObject({
    error: "redirect_uri_mismatch",
    state: "kept",
  });
});

test("the token endpoint responds with a form, and with JSON when Accept requests it", async () => {
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
  const rejected = await exchange({ code: "never-issued" }, { accept: "*/*" });
  expect(rejected.status).toBe(200);
  expect(new URLSearchParams(await rejected.text()).get("error")).toBe("bad_verification_code");
});

test("scopes are requested space-separated and granted comma-separated, without those included in another", async () => {
  const code = await signInForCode({ scope: "repo user user:email repo" });
  expect(await exchangeForJson({ code })).toMatchObject({ scope: "repo,user" });
});

test("wrong client credentials are reported with HTTP 200, and the code stays valid for the right ones", async () => {
  const code = await signInForCode();
  expect(await exchangeForJson({ code, client_secret: "wrong" })).toMatchObject({
    error: "incorrect_client_credentials",
  });
  expect(await exchangeForJson({ code, client_id: "unknown" })).toMatchObject({
    error: "incorrect_client_credentials",
  });
  expect(await exchangeForJson({ code })).toHaveProperty("access_token");
});

test("a redirect_uri other than the one used for sign-in is a mismatch; omitting it is allowed", async () => {
  const code = await signInForCode();
  const redirect_uri = `${application.callback}/below`;
  expect(await exchangeForJson({ code, redirect_uri })).toMatchObject({ error: "redirect_uri_mismatch" });
  expect(await exchangeForJson({ code })).toHaveProperty("access_token");
});

test("a code cannot be used twice", async () => {
  const code = await signInForCode();
  expect(await exchangeForJson({ code })).toHaveProperty("access_token");
  expect(await exchangeForJson({ code })).toMatchObject({ error: "bad_verification_code" });
});

test("a code of another application is rejected", async () => {
  provider.registerApplication({ ...registered, clientId: "other-application" });
  const code = await signInForCode();
  expect(await exchangeForJson({ code, client_id: "other-application" })).toMatchObject({
    error: "bad_verification_code",
  });
  expect(await exchangeForJson({ code })).toHaveProperty("access_token");
});

test("an expired code is rejected", async () => {
  await using shortLived = await startCodeHostingProvider({ ...everyone, codeLifetimeSeconds: 0 });
  const url = authorizationUrl().href.replace(provider.origin, shortLived.origin);
  const callback = await shortLived.signInAs(url, { account: "first" });
  const code = callback.searchParams.get("code") ?? "";
  expect(await exchangeForJson({ code }, shortLived)).toMatchObject({ error: "bad_verification_code" });
});

test("PKCE is verified when used and not required otherwise", async () => {
  const verifier = randomPKCECodeVerifier();
  const challenge = {
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  const code = await signInForCode(challenge);
  expect(await exchangeForJson({ code })).toMatchObject({ error: "bad_verification_code" });
  expect(await exchangeForJson({ code, code_verifier: randomPKCECodeVerifier() })).toMatchObject({
    error: "bad_verification_code",
  });
  expect(await exchangeForJson({ code, code_verifier: verifier })).toHaveProperty("access_token");
  expect(await exchangeForJson({ code: await signInForCode() })).toHaveProperty("access_token");
});

test("PKCE supports only S256", async () => {
  const plain = authorizationUrl({ code_challenge: "a".repeat(43), code_challenge_method: "plain" });
  const callback = await provider.signInAs(plain, { account: "first" });
  expect(callback.searchParams.get("error")).toBe("invalid_request");
});

test("a user without a verified primary e-mail gets no token, unless the server allows it", async () => {
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
  const response = await exchange(parameters, { accept: "application/json", at });
  expect(response.status).toBe(200);
  return response.json();
}

function exchange(
  parameters: Readonly<Record<string, string>>,
  { accept, at = provider }: { accept: string; at?: CodeHostingProvider },
): Promise<Response> {
  const credentials = { client_id: application.id, client_secret: application.secret };
  const body = new URLSearchParams({ ...credentials, ...parameters });
  return fetch(at.tokenEndpoint, { method: "POST", headers: { accept }, body });
}
