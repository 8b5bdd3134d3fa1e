/**
 * @module
 * Logins of command lines as a browser and a program send them, for tests.
 * Imported by tests only.
 */
import type { DeviceLogin, LoginToken } from "@hearth-and-keep/vault-contract";
import type { Teammate } from "../../organisations/test/start-team.ts";
import { generateRandomToken, pkceChallenge } from "../../sign-in/random-tokens.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";

export const port = "45678";

/** A program that asks for a token by a redirect. */
export function newRedirectLogin(permission: "read" | "write" = "write") {
  const verifier = generateRandomToken();
  const code_challenge = pkceChallenge(verifier);
  const query = { port, state: generateRandomToken(), code_challenge, machine: "laptop", permission };
  return { verifier, query };
}

export type RedirectLogin = ReturnType<typeof newRedirectLogin>;

let addresses = 0;

/** A new one each time, to stay below the limits per address; the test's address is a trusted proxy. */
export function nextAddress(): string {
  addresses += 1;
  return `10.0.${addresses >> 8}.${addresses & 255}`;
}

type FormRequest = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly address?: string;
};

/** Submits a form as it is. */
export function submit(
  keep: Pick<TestKeep, "url">,
  [path, fields]: readonly [path: string, fields: Readonly<Record<string, string>>],
  { headers = {}, address = nextAddress() }: FormRequest = {},
): Promise<Response> {
  return fetch(new URL(path, keep.url), {
    method: "POST",
    redirect: "manual",
    headers: { "x-forwarded-for": address, ...headers },
    body: new URLSearchParams(fields),
  });
}

type Submission = {
  readonly decision?: "approve" | "deny";
  readonly account?: string;
  readonly signedIn?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The person's decision on the page of a redirect. */
export function decide(
  keep: Pick<TestKeep, "url">,
  person: Teammate,
  { query, ...submission }: Pick<RedirectLogin, "query"> & Submission,
): Promise<Response> {
  const { decision = "approve", account = person.accountId, signedIn = person.accountId } = submission;
  const fields = { ...query, decision, account, signed_in: signedIn };
  return submit(keep, ["/login/authorize", fields], { headers: submission.headers ?? person.headers });
}

/** The code of an approved redirect. */
export async function approvedCode(
  keep: Pick<TestKeep, "url">,
  person: Teammate,
  login: RedirectLogin & Submission,
): Promise<string> {
  const response = await decide(keep, person, login);
  const location = new URL(response.headers.get("location") ?? "about:blank");
  if (response.status !== 303) throw new Error(`Not approved: ${response.status}`);
  return location.searchParams.get("code") ?? "";
}

export type Exchange = {
  readonly status: number;
  readonly body: LoginToken & { readonly error?: string };
};

async function requestToken(
  keep: Pick<TestKeep, "url">,
  fields: Readonly<Record<string, string>>,
): Promise<Exchange> {
  const response = await submit(keep, ["/api/logins/token", fields]);
  // Each test checks the fields that it expects.
  return { status: response.status, body: (await response.json()) as Exchange["body"] };
}

export function exchangeCode(keep: Pick<TestKeep, "url">, code: string, verifier: string): Promise<Exchange> {
  return requestToken(keep, { grant_type: "authorization_code", code, code_verifier: verifier });
}

export async function startDevice(keep: Pick<TestKeep, "url">): Promise<DeviceLogin> {
  const fields = { machine: "server", permission: "read" };
  const response = await submit(keep, ["/api/logins/device", fields]);
  // Validated against its schema by the tests of the OpenAPI document.
  return (await response.json()) as DeviceLogin;
}

export function exchangeDevice(keep: Pick<TestKeep, "url">, code: string): Promise<Exchange> {
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  return requestToken(keep, { grant_type, device_code: code });
}
