import type { Outbound } from "@hearth-and-keep/outbound-http";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import type { Person } from "../accounts/person.ts";
import { requestFailure } from "../failures.ts";
import type { Departure, IdentityProvider } from "./identity-provider.ts";
import { callProvider, type ProviderCalls, type ProviderRequest } from "./provider-client.ts";
import { challengeFor } from "./random-tokens.ts";
import { shownText } from "./sanitize-display-name.ts";

export type CodeHostingSettings = {
  readonly name: string;
  readonly base: URL;
  readonly api: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly outbound: Pick<Outbound, "request">;
};

/** What can be sent as a credential: anything else would be a second header, or none. */
const tokenAnswer = Compile(
  Type.Object({ access_token: Type.String({ pattern: "^[!-~]{1,2048}$", maxLength: 2048 }) }),
);
const person = Compile(
  Type.Object({
    id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    login: Type.String({ minLength: 1, maxLength: 255 }),
    name: Type.Optional(Type.Union([Type.String({ maxLength: 1024 }), Type.Null()])),
  }),
);
const emailList = Compile(
  Type.Array(
    Type.Object({
      email: Type.String({ maxLength: 320 }),
      primary: Type.Boolean(),
      verified: Type.Boolean(),
    }),
    { maxItems: 1000 },
  ),
);

/** OAuth 2 without an ID token, as GitHub, GitHub Enterprise and Gitea speak it. */
export function createCodeHostingProvider(settings: CodeHostingSettings): IdentityProvider {
  const { name, base, api, clientId, clientSecret, outbound } = settings;
  const isInsecure = [base, api].some(({ protocol }) => protocol === "http:");
  const calls: ProviderCalls = { outbound, isInsecure, name };
  return {
    kind: "code-hosting",
    name,
    prepare: () => Promise.resolve(),
    origins: () => [base.origin],
    begin: (departure) => Promise.resolve(authorizationUrl(departure, settings)),
    async finish(callback, { verifier, redirectUri }) {
      const code = readCode(callback.searchParams, settings);
      const form = new URLSearchParams({
        client_id: clientId,
        client_secret: clientSecret,
        code,
        redirect_uri: redirectUri,
        code_verifier: verifier,
      });
      const tokens = await readJson(below(base, "login/oauth/access_token"), calls, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: Buffer.from(form.toString()),
      });
      // A refusal comes with status 200 and a member "error"; who reads the status alone takes it for a success.
      if (isRefusal(tokens.value)) throw refused(`${name} did not accept the sign-in`);
      const { access_token: token } = expectShape(tokenAnswer, tokens, name);
      return describePerson(await askApi(api, calls, token), base);
    },
  };
}

function authorizationUrl(
  { state, verifier, redirectUri, mustAskAgain }: Departure,
  { base, clientId }: CodeHostingSettings,
): URL {
  const url = below(base, "login/oauth/authorize");
  url.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "user:email",
    state,
    code_challenge: challengeFor(verifier),
    code_challenge_method: "S256",
    ...(mustAskAgain ? { prompt: "select_account" } : {}),
  }).toString();
  return url;
}

/** RFC 9207 is not spoken by these, but an issuer that is named must be this one. */
function readCode(parameters: URLSearchParams, { name, base }: CodeHostingSettings): string {
  const only = (parameter: string): string | undefined => {
    const values = parameters.getAll(parameter);
    if (values.length > 1) throw refused(`${name} sent an answer that names something twice`);
    return values[0];
  };
  const issuer = only("iss");
  if (issuer !== undefined && issuer !== issuerOf(base)) throw refused("The answer is another provider's");
  if (only("error") !== undefined) throw refused(`The sign-in was not allowed at ${name}`);
  const code = only("code");
  if (code === undefined || code === "" || code.length > 2048) throw refused(`${name} sent no code`);
  return code;
}

type Profile = { readonly user: JsonAnswer; readonly emails: JsonAnswer | undefined; readonly name: string };

/** The token is for these two questions, and then forgotten. */
async function askApi(api: URL, calls: ProviderCalls, token: string): Promise<Profile> {
  const asker = { authorization: `Bearer ${token}` };
  const user = await readJson(below(api, "user"), calls, asker);
  // Without the scope, which a person may refuse, there is no such page.
  const emails = await readJson(below(api, "user/emails"), calls, asker).catch(() => undefined);
  return { user, emails, name: calls.name };
}

function describePerson({ user, emails, name }: Profile, base: URL): Person {
  const { id, login, name: fullName } = expectShape(person, user, name);
  const addresses = emails !== undefined && emailList.Check(emails.value) ? emails.value : [];
  const email = shownText(addresses.find(({ primary, verified }) => primary && verified)?.email, 320);
  return {
    provider: "code-hosting",
    issuer: issuerOf(base),
    subject: String(id),
    displayName: shownText(fullName, 200) ?? shownText(login, 200) ?? String(id),
    login: shownText(login, 255) ?? String(id),
    ...(email === undefined ? {} : { email }),
  };
}

type JsonAnswer = { readonly status: number; readonly value: unknown };

async function readJson(url: URL, calls: ProviderCalls, request: ProviderRequest): Promise<JsonAnswer> {
  const headers = { ...request.headers, accept: "application/json" };
  const { status, bytes } = await callProvider(url, { ...request, headers }, calls);
  const unavailable = (cause?: unknown) =>
    requestFailure({ kind: "provider-unavailable", provider: calls.name }, { cause });
  if (status >= 500 || status === 429 || (status >= 300 && status < 400)) throw unavailable();
  try {
    return { status, value: JSON.parse(bytes.toString("utf8")) };
  } catch (problem) {
    throw unavailable(problem);
  }
}

function isRefusal(value: unknown): boolean {
  return typeof value === "object" && value !== null && "error" in value;
}

type Shaped<Shape> = { Check(value: unknown): value is Shape };

function expectShape<Shape>(shape: Shaped<Shape>, { status, value }: JsonAnswer, name: string): Shape {
  if (status === 200 && shape.Check(value)) return value;
  throw refused(`${name} did not say who signed in`);
}

function refused(reason: string) {
  return requestFailure({ kind: "sign-in-refused", reason });
}

function issuerOf(base: URL): string {
  return base.href.replace(/\/+$/u, "");
}

function below(base: URL, path: string): URL {
  return new URL(`${issuerOf(base)}/${path}`);
}
