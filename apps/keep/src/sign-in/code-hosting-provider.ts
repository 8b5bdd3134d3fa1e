import type { Outbound } from "@hearth-and-keep/outbound-http";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import type { Person } from "../accounts/person.ts";
import { requestFailure } from "../failures.ts";
import { findMemberships } from "./code-hosting-memberships.ts";
import type { AuthorizationRequest, IdentityProvider } from "./identity-provider.ts";
import {
  issuerOf,
  type JsonResponse,
  type ProviderClient,
  readJson,
  resolveUnder,
} from "./provider-client.ts";
import { pkceChallenge } from "./random-tokens.ts";
import { sanitizeDisplayText } from "./sanitize-display-name.ts";

export type CodeHostingSettings = {
  readonly name: string;
  readonly base: URL;
  readonly api: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Organizations and teams whose members are admitted; empty unless rules name some. */
  readonly organizations: readonly string[];
  readonly outbound: Pick<Outbound, "request">;
};

/** Printable ASCII only, so that a token cannot inject a second header. */
const tokenResponse = Compile(
  Type.Object({ access_token: Type.String({ pattern: "^[!-~]{1,2048}$", maxLength: 2048 }) }),
);
const userResponse = Compile(
  Type.Object({
    id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    login: Type.String({ minLength: 1, maxLength: 255 }),
    name: Type.Optional(Type.Union([Type.String({ maxLength: 1024 }), Type.Null()])),
  }),
);
const emailsResponse = Compile(
  Type.Array(
    Type.Object({
      email: Type.String({ maxLength: 320 }),
      primary: Type.Boolean(),
      verified: Type.Boolean(),
    }),
    { maxItems: 1000 },
  ),
);

/** OAuth 2.0 without an ID token, as implemented by GitHub, GitHub Enterprise and Gitea. */
export function createCodeHostingProvider(settings: CodeHostingSettings): IdentityProvider {
  const { name, base, api, clientId, clientSecret, outbound } = settings;
  const isInsecure = [base, api].some(({ protocol }) => protocol === "http:");
  const client: ProviderClient = { outbound, isInsecure, name };
  return {
    kind: "code-hosting",
    name,
    fillsTeams: false,
    prepare: () => Promise.resolve(),
    origins: () => [base.origin],
    begin: (request) => Promise.resolve(authorizationUrl(request, settings)),
    async finish(callback, { verifier, redirectUri }) {
      const code = readCode(callback.searchParams, settings);
      const form = new URLSearchParams({
        client_id: clientId,
        client_secret: clientSecret,
        code,
        redirect_uri: redirectUri,
        code_verifier: verifier,
      });
      const tokens = await readJson(resolveUnder(base, "login/oauth/access_token"), client, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: Buffer.from(form.toString()),
      });
      // These providers report a rejected code with status 200 and an "error" member.
      if (isErrorBody(tokens.value)) throw refused(`${name} rejected the sign-in`);
      const { access_token: token } = expectShape(tokenResponse, tokens, name);
      const profile = await fetchProfile(api, client, token);
      const person = describePerson(profile, base);
      const organizations = await findMemberships(settings, { client, token, login: person.login ?? "" });
      return { person, evidence: { verifiedEmails: verifiedEmails(profile), organizations, groups: [] } };
    },
  };
}

function authorizationUrl(
  { state, verifier, redirectUri, requiresReauthentication }: AuthorizationRequest,
  { base, clientId, organizations }: CodeHostingSettings,
): URL {
  const url = resolveUnder(base, "login/oauth/authorize");
  url.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: organizations.length === 0 ? "user:email" : "user:email read:org",
    state,
    code_challenge: pkceChallenge(verifier),
    code_challenge_method: "S256",
    ...(requiresReauthentication ? { prompt: "select_account" } : {}),
  }).toString();
  return url;
}

/** These providers do not implement RFC 9207, but if the response names an issuer, it must be this one. */
function readCode(parameters: URLSearchParams, { name, base }: CodeHostingSettings): string {
  const single = (parameter: string): string | undefined => {
    const values = parameters.getAll(parameter);
    if (values.length > 1) throw refused(`${name} returned a response with a repeated parameter`);
    return values[0];
  };
  const issuer = single("iss");
  if (issuer !== undefined && issuer !== issuerOf(base))
    throw refused("The response came from a different provider");
  if (single("error") !== undefined) throw refused(`The sign-in was canceled or denied at ${name}`);
  const code = single("code");
  if (code === undefined || code === "" || code.length > 2048)
    throw refused(`${name} returned no authorization code`);
  return code;
}

type Profile = {
  readonly user: JsonResponse;
  readonly emails: JsonResponse | undefined;
  readonly name: string;
};

/** The access token is used for these requests and for memberships only, and is not stored. */
async function fetchProfile(api: URL, client: ProviderClient, token: string): Promise<Profile> {
  const credentials = { authorization: `Bearer ${token}` };
  const user = await readJson(resolveUnder(api, "user"), client, credentials);
  // The person may have declined the email scope; then this endpoint returns an error.
  const emails = await readJson(resolveUnder(api, "user/emails"), client, credentials).catch(() => undefined);
  return { user, emails, name: client.name };
}

function describePerson({ user, emails, name }: Profile, base: URL): Person {
  const { id, login, name: fullName } = expectShape(userResponse, user, name);
  const addresses = emails !== undefined && emailsResponse.Check(emails.value) ? emails.value : [];
  const email = sanitizeDisplayText(
    addresses.find(({ primary, verified }) => primary && verified)?.email,
    320,
  );
  return {
    provider: "code-hosting",
    issuer: issuerOf(base),
    subject: String(id),
    displayName: sanitizeDisplayText(fullName, 200) ?? sanitizeDisplayText(login, 200) ?? String(id),
    login: sanitizeDisplayText(login, 255) ?? String(id),
    ...(email === undefined ? {} : { email }),
  };
}

function verifiedEmails({ emails }: Profile): readonly string[] {
  if (emails === undefined || !emailsResponse.Check(emails.value)) return [];
  return emails.value.filter(({ verified }) => verified).map(({ email }) => email);
}

function isErrorBody(value: unknown): boolean {
  return typeof value === "object" && value !== null && "error" in value;
}

type Shaped<Shape> = { Check(value: unknown): value is Shape };

function expectShape<Shape>(shape: Shaped<Shape>, { status, value }: JsonResponse, name: string): Shape {
  if (status === 200 && shape.Check(value)) return value;
  throw refused(`${name} returned no valid user profile`);
}

function refused(reason: string) {
  return requestFailure({ kind: "sign-in-refused", reason });
}
