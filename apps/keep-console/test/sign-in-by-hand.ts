import type { ConsoleStage } from "./console-fixture.ts";

export type SessionCookie = { readonly name: string; readonly value: string };

/** Signs somebody in at the code-hosting provider without a browser, and gives the cookie a browser would have. */
export async function signInByHand(stage: ConsoleStage, account: string): Promise<SessionCookie> {
  const begun = await fetch(`${stage.url}/auth/login/code-hosting`, {
    method: "POST",
    headers: { origin: stage.url, "sec-fetch-site": "same-origin" },
    redirect: "manual",
  });
  const there = begun.headers.get("location") ?? "";
  const back = await stage.codeHosting.signInAs(there, { account });
  const cookie = begun.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ");
  const ended = await fetch(back, { headers: { cookie }, redirect: "manual" });
  const [line = ""] = ended.headers.getSetCookie();
  const pair = line.split(";")[0] ?? "";
  const middle = pair.indexOf("=");
  if (ended.status !== 303 || middle < 1)
    throw new Error(`Cannot sign in "${account}": ${ended.status} ${await ended.text()}`);
  return { name: pair.slice(0, middle), value: pair.slice(middle + 1) };
}
