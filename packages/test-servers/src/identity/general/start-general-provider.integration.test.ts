import { getJwksCache, setJwksCache } from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { application, beginSignIn, discoverProvider } from "../relying-application.ts";
import { type GeneralIdentityProvider, startGeneralIdentityProvider } from "./start-general-provider.ts";

const client = { id: application.id, secret: application.secret, redirectUris: [application.callback] };
const first = {
  subject: "101",
  email: "first@example.com",
  isEmailVerified: true,
  hostedDomain: "example.com",
};
const second = { subject: "102", email: "second@example.org", isEmailVerified: false, name: "Second" };

let provider: GeneralIdentityProvider;
beforeAll(async () => {
  provider = await startGeneralIdentityProvider({ accounts: [first, second], clients: [client] });
});
afterAll(() => provider[Symbol.asyncDispose]());

test("a real client signs in and reads the user from the ID token", async () => {
  const signIn = await beginSignIn(await discoverProvider(provider.issuer));
  const tokens = await signIn.finish(await provider.signInAs(signIn.url, { account: "first@example.com" }));
  expect(tokens.claims()).toMatchObject({
    iss: provider.issuer,
    aud: application.id,
    sub: "101",
    email: "first@example.com",
    email_verified: true,
    hd: "example.com",
  });
});

test("two users who sign in concurrently get their own claims", async () => {
  const configuration = await discoverProvider(provider.issuer);
  const claims = await Promise.all(
    [first, second].map(async ({ email }) => {
      const signIn = await beginSignIn(configuration);
      return (await signIn.finish(await provider.signInAs(signIn.url, { account: email }))).claims();
    }),
  );
  expect(claims).toMatchObject([{ sub: "101" }, { sub: "102", email_verified: false, name: "Second" }]);
});

test("a user who denies access is redirected with access_denied and no code", async () => {
  const signIn = await beginSignIn(await discoverProvider(provider.issuer));
  const callback = await provider.signInAs(signIn.url, { account: first.email, decision: "deny" });
  expect(callback.searchParams.get("error")).toBe("access_denied");
  expect(callback.searchParams.has("code")).toBe(false);
  await expect(signIn.finish(callback)).rejects.toMatchObject({ error: "access_denied" });
});

test("an unknown account is not signed in", async () => {
  const signIn = await beginSignIn(await discoverProvider(provider.issuer));
  await expect(provider.signInAs(signIn.url, { account: "nobody@example.com" })).rejects.toThrow(
    "There is no such account",
  );
});

test("a code cannot be used twice", async () => {
  const signIn = await beginSignIn(await discoverProvider(provider.issuer));
  const callback = await provider.signInAs(signIn.url, { account: first.email });
  expect((await signIn.finish(callback)).claims()?.sub).toBe("101");
  await expect(signIn.finish(callback)).rejects.toMatchObject({ error: "invalid_grant" });
});

test("a code cannot be used without its PKCE verifier", async () => {
  const configuration = await discoverProvider(provider.issuer);
  const victim = await beginSignIn(configuration);
  const attacker = await beginSignIn(configuration);
  const callback = await provider.signInAs(victim.url, { account: first.email });
  const stolen = new URL(callback);
  stolen.searchParams.set("state", attacker.url.searchParams.get("state") ?? "");
  await expect(attacker.finish(stolen)).rejects.toMatchObject({ error: "invalid_grant" });
});

test("a request without PKCE is rejected", async () => {
  const signIn = await beginSignIn(await discoverProvider(provider.issuer));
  signIn.url.searchParams.delete("code_challenge");
  signIn.url.searchParams.delete("code_challenge_method");
  const callback = await provider.signInAs(signIn.url, { account: first.email });
  expect(callback.searchParams.get("error")).toBe("invalid_request");
});

test("a code expires after its lifetime and not before", async () => {
  await using shortLived = await startGeneralIdentityProvider({
    accounts: [first],
    clients: [client],
    codeLifetimeSeconds: 1,
  });
  const [late, early] = await Promise.all(
    [shortLived, provider].map(async (at) => {
      const signIn = await beginSignIn(await discoverProvider(at.issuer));
      return { ...signIn, callback: await at.signInAs(signIn.url, { account: "101" }) };
    }),
  );
  await new Promise((resolve) => setTimeout(resolve, 2100));
  await expect(late?.finish(late.callback)).rejects.toMatchObject({ error: "invalid_grant" });
  expect((await early?.finish(early.callback))?.claims()?.sub).toBe("101");
});

test("a callback is rejected until a client registers it, which is possible while the provider runs", async () => {
  await using empty = await startGeneralIdentityProvider({ accounts: [first] });
  const configuration = await discoverProvider(empty.issuer);
  const early = await beginSignIn(configuration);
  await expect(empty.signInAs(early.url, { account: first.email })).rejects.toThrow("responded with 400");
  empty.registerClient(client);
  const signIn = await beginSignIn(configuration);
  const tokens = await signIn.finish(await empty.signInAs(signIn.url, { account: first.email }));
  expect(tokens.claims()?.sub).toBe("101");
  signIn.url.searchParams.set("redirect_uri", "http://127.0.0.1:9/elsewhere");
  await expect(empty.signInAs(signIn.url, { account: first.email })).rejects.toThrow("responded with 400");
});

test("a changed account is visible at the next sign-in", async () => {
  const configuration = await discoverProvider(provider.issuer);
  provider.putAccount({ ...second, email: "moved@example.org", isEmailVerified: true });
  const signIn = await beginSignIn(configuration);
  const tokens = await signIn.finish(await provider.signInAs(signIn.url, { account: "moved@example.org" }));
  expect(tokens.claims()).toMatchObject({ sub: "102", email: "moved@example.org", email_verified: true });
  provider.putAccount(second);
});

test("after a key rotation tokens use a new key, which a client fetches once its key set is a minute old", async () => {
  const fresh = await discoverProvider(provider.issuer);
  const oldKeyId = await signInForKeyId(fresh);
  const aged = await discoverProvider(provider.issuer);
  const list = getJwksCache(fresh);
  if (list !== undefined) setJwksCache(aged, { ...list, uat: list.uat - 61 });
  const pending = await beginSignIn(aged);
  const callback = await provider.signInAs(pending.url, { account: first.email });
  await provider.rotateSigningKey();
  expect(await listKeyIds()).toHaveLength(2);
  expect((await pending.finish(callback)).claims()?.sub).toBe("101");
  expect(await signInForKeyId(aged)).not.toBe(oldKeyId);
  await expect(signInForKeyId(fresh)).rejects.toMatchObject({ code: "OAUTH_KEY_SELECTION_FAILED" });
});

test("a withdrawn key is no longer published", async () => {
  await provider.rotateSigningKey({ withdrawOld: true });
  expect(await listKeyIds()).toEqual([await signInForKeyId(await discoverProvider(provider.issuer))]);
});

async function signInForKeyId(configuration: Awaited<ReturnType<typeof discoverProvider>>): Promise<unknown> {
  const signIn = await beginSignIn(configuration);
  const tokens = await signIn.finish(await provider.signInAs(signIn.url, { account: first.email }));
  const [header = ""] = (tokens.id_token ?? "").split(".");
  // The client has verified this header, and a JWT header is an object.
  const { kid } = JSON.parse(Buffer.from(header, "base64url").toString("utf8")) as Record<string, unknown>;
  return kid;
}

async function listKeyIds(): Promise<readonly unknown[]> {
  const response = await fetch(`${provider.issuer}/jwks`);
  // RFC 7517: a key set is an object with the member "keys".
  const { keys } = (await response.json()) as { keys: readonly Record<string, unknown>[] };
  return keys.map((key) => key["kid"]);
}
