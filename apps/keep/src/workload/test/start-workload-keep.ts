/**
 * @module
 * A Keep with an issuer of workload tokens, the claims that platforms put into them, and a real Kubernetes API server.
 * Imported by the tests of this folder only.
 */
import { setDefaultCACertificates } from "node:tls";
import { signWorkloadToken, startWorkloadIssuer, type WorkloadIssuer } from "@hearth-and-keep/test-servers";
import type { ExchangedToken, OAuthError, TrustRule } from "@hearth-and-keep/vault-contract";
import { addSession } from "../../access/test/fixture.ts";
import { generateId } from "../../generate-id.ts";
import { createFakeBrowser, type FakeBrowser, readAs } from "../../test/fake-browser.ts";
import { startTestKeep, type TestKeep, type TestPerson } from "../../test/start-test-keep.ts";
import { claimSets, type PlatformName, safeConditions } from "./claim-sets.ts";

export type Owner = TestPerson & { readonly browser: FakeBrowser; readonly audience: string };

type ExchangeResponse = Partial<ExchangedToken & OAuthError> & { readonly status: number };

export type WorkloadKeep = AsyncDisposable & {
  readonly keep: TestKeep;
  readonly issuer: WorkloadIssuer;
  readonly owner: Owner;
  /** Another person, signed in a moment ago. */
  addOwner(): Promise<Owner>;
  /** Another node on the same database. */
  addNode(): Promise<TestKeep>;
  createRule(owner: Owner, platform: PlatformName, changes?: object): Promise<TrustRule>;
  /** Claims as the platform mints them, for the owner's account. */
  claimsOf(platform: PlatformName, changes?: object): Readonly<Record<string, unknown>>;
  sign(claims: object | string, header?: Readonly<Record<string, unknown>>): string;
  exchange(
    token: string,
    fields?: Readonly<Record<string, string>>,
    at?: TestKeep,
  ): Promise<ExchangeResponse>;
};

const publicUrl = "https://keep.example";

/** Other issuers on this machine that Keep may read keys from. */
type OtherIssuers = readonly Pick<WorkloadIssuer, "host" | "certificate">[];

export async function startWorkloadKeep(others: OtherIssuers = []): Promise<WorkloadKeep> {
  await using cleanup = new AsyncDisposableStack();
  const issuer = cleanup.use(await startWorkloadIssuer());
  const issuers = [issuer, ...others];
  setDefaultCACertificates(issuers.map(({ certificate }) => certificate));
  const privateIssuers = issuers.map(({ host }) => host).join(",");
  const settings = { privateIssuers, publicUrl, trustedProxies: "127.0.0.1" };
  const keep = cleanup.use(await startTestKeep({ settings }));
  const addOwner = async (): Promise<Owner> => {
    const person = await keep.addPerson();
    const browser = createFakeBrowser(keep);
    browser.cookies.set("__Host-session", (await addSession(keep, person, "1 minute")).text);
    return { ...person, browser, audience: `${publicUrl}/accounts/${person.accountId}` };
  };
  const owner = await addOwner();
  const owned = cleanup.move();
  return {
    keep,
    issuer,
    owner,
    addOwner,
    async addNode() {
      const { databaseUrl, key } = keep;
      return owned.use(await startTestKeep({ settings, databaseUrl, key }));
    },
    async createRule({ browser }, platform, changes = {}) {
      const rule = {
        name: `Deploy with ${platform}`,
        provider: platform,
        issuer: issuer.issuer,
        conditions: safeConditions[platform],
        scopes: ["vaults:read"],
        ...changes,
      };
      const body = { method: "POST", body: rule };
      return readAs<TrustRule>(await browser.request("/api/secrets/trust-rules", body));
    },
    claimsOf: (platform, changes = {}) => ({
      iss: issuer.issuer,
      aud: owner.audience,
      jti: generateId(),
      ...times(),
      ...claimSets[platform],
      ...changes,
    }),
    sign(claims, header) {
      const [key] = issuer.keys;
      if (key === undefined) throw new Error("The issuer has no key");
      return signWorkloadToken(key, claims, header);
    },
    exchange: (token, fields = {}, at = keep) => exchange(at, token, fields),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export function times(offsetSeconds = 0) {
  const now = Math.floor(Date.now() / 1000) + offsetSeconds;
  return { iat: now, nbf: now - 5, exp: now + 300 };
}

let addresses = 0;

async function exchange(
  keep: TestKeep,
  token: string,
  fields: Readonly<Record<string, string>>,
): Promise<ExchangeResponse> {
  addresses += 1;
  const form = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    subject_token: token,
    ...fields,
  });
  const response = await keep.request("/api/secrets/tokens/exchange", {
    method: "POST",
    body: form.toString(),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "x-forwarded-for": `10.1.${addresses >> 8}.${addresses & 255}`,
    },
  });
  // Either body of the contract.
  return { ...((await response.json()) as ExchangedToken | OAuthError), status: response.status };
}
