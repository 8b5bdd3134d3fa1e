import type { ConsoleFixture } from "./console-fixture.ts";

export type SessionCookie = { readonly name: string; readonly value: string };

/** Signs in through the code-hosting provider with plain HTTP requests and returns the session cookie. */
export async function signInWithoutBrowser(fixture: ConsoleFixture, account: string): Promise<SessionCookie> {
  const started = await fetch(`${fixture.url}/auth/login/code-hosting`, {
    method: "POST",
    headers: { origin: fixture.url, "sec-fetch-site": "same-origin" },
    redirect: "manual",
  });
  const providerUrl = started.headers.get("location") ?? "";
  const callbackUrl = await fixture.codeHosting.signInAs(providerUrl, { account });
  const cookie = started.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ");
  const finished = await fetch(callbackUrl, { headers: { cookie }, redirect: "manual" });
  const [line = ""] = finished.headers.getSetCookie();
  const pair = line.split(";")[0] ?? "";
  const separator = pair.indexOf("=");
  if (finished.status !== 303 || separator < 1)
    throw new Error(`Cannot sign in "${account}": ${finished.status} ${await finished.text()}`);
  return { name: pair.slice(0, separator), value: pair.slice(separator + 1) };
}
