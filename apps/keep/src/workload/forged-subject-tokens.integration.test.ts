import { createHmac, generateKeyPairSync } from "node:crypto";
import { recordFigure } from "@hearth-and-keep/figures";
import {
  makeWorkloadKey,
  publicJwk,
  signWorkloadToken,
  type WorkloadKey,
} from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PlatformName } from "./test/claim-sets.ts";
import { type Owner, startWorkloadKeep, times, type WorkloadKeep } from "./test/start-workload-keep.ts";

let fixture: WorkloadKeep;
let stranger: Owner;
let rsaKey: WorkloadKey;
const unpublished = makeWorkloadKey();
const platforms = ["github", "gitlab", "kubernetes", "generic"] as const;

beforeAll(async () => {
  fixture = await startWorkloadKeep();
  stranger = await fixture.addOwner();
  const [key] = fixture.issuer.keys;
  if (key === undefined) throw new Error("The issuer has no key");
  rsaKey = key;
  const repeated = makeWorkloadKey("RS256", "repeated");
  fixture.issuer.keys.push(makeWorkloadKey("ES256", "curve"), makeWorkloadKey("EdDSA", "edwards"));
  fixture.issuer.keys.push(repeated, { ...repeated });
  for (const platform of platforms) await fixture.createRule(fixture.owner, platform);
});
afterAll(() => fixture[Symbol.asyncDispose]());

const encode = (value: object | string): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

const claims = (changes: object = {}, platform: PlatformName = "github") =>
  fixture.claimsOf(platform, changes);
const sign = (changes: object = {}, platform: PlatformName = "github") =>
  fixture.sign(claims(changes, platform));
const signHeader = (header: Readonly<Record<string, unknown>>) => fixture.sign(claims(), header);
const without = (name: string, platform: PlatformName = "github") =>
  fixture.sign(Object.fromEntries(Object.entries(claims({}, platform)).filter(([key]) => key !== name)));
/** The claims' text with more members at its end. */
const withText = (more: string) => fixture.sign(`${JSON.stringify(claims()).slice(0, -1)},${more}}`);
const keyOf = (kid: string): WorkloadKey => fixture.issuer.keys.find((key) => key.kid === kid) ?? unpublished;

/** A token whose HMAC key is something that everybody knows. */
function signWithSecret(secret: string | Buffer): string {
  const signed = `${encode({ alg: "HS256", kid: rsaKey.kid, typ: "JWT" })}.${encode(claims())}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

function replaceSegment(index: number, change: (segment: string) => string): string {
  return sign()
    .split(".")
    .map((segment, position) => (position === index ? change(segment) : segment))
    .join(".");
}

/** Each refused token with the reason in the account's log; undefined where no account is named. */
const forgeries: Readonly<Record<string, readonly [() => string, string | undefined]>> = {
  "audience of another account of this Keep": [() => sign({ aud: stranger.audience }), undefined],
  "audience of an account that does not exist": [
    () => sign({ aud: "https://keep.example/accounts/0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e" }),
    undefined,
  ],
  "audience with a trailing slash": [() => sign({ aud: `${fixture.owner.audience}/` }), undefined],
  "audience in upper case": [() => sign({ aud: fixture.owner.audience.toUpperCase() }), undefined],
  "audience of another server": [
    () => sign({ aud: fixture.owner.audience.replace("keep.example", "keep.example.net") }),
    undefined,
  ],
  "audience over http": [() => sign({ aud: fixture.owner.audience.replace("https", "http") }), undefined],
  "audience with another one": [() => sign({ aud: [fixture.owner.audience, "other"] }), undefined],
  "audience twice": [() => sign({ aud: [fixture.owner.audience, fixture.owner.audience] }), undefined],
  "audience within another list": [() => sign({ aud: [[fixture.owner.audience]] }), undefined],
  "audience in an object": [() => sign({ aud: { 0: fixture.owner.audience } }), undefined],
  "default audience of the platform": [() => sign({ aud: "https://github.com/octo-org" }), undefined],
  "audience in the path form of the account id alone": [
    () => sign({ aud: fixture.owner.accountId }),
    undefined,
  ],
  "no audience": [() => without("aud"), undefined],
  "empty list of audiences": [() => sign({ aud: [] }), undefined],

  "issuer with a trailing slash": [() => sign({ iss: `${fixture.issuer.issuer}/` }), "no-rule-for-issuer"],
  "issuer in another case": [() => sign({ iss: fixture.issuer.issuer.toUpperCase() }), "no-rule-for-issuer"],
  "issuer that no rule names": [() => sign({ iss: "https://issuer.example" }), "no-rule-for-issuer"],
  "issuer with a path": [() => sign({ iss: `${fixture.issuer.issuer}/octo-org` }), "no-rule-for-issuer"],
  "issuer with a zero character": [
    () => sign({ iss: `${fixture.issuer.issuer}\u0000` }),
    "no-rule-for-issuer",
  ],
  "issuer in a list": [() => sign({ iss: [fixture.issuer.issuer] }), "claims-incomplete"],
  "no issuer": [() => without("iss"), "claims-incomplete"],

  "algorithm none": [
    () => `${encode({ alg: "none", kid: rsaKey.kid })}.${encode(claims())}.AA`,
    "algorithm-not-allowed",
  ],
  "algorithm none without a signature": [() => `${encode({ alg: "none" })}.${encode(claims())}.`, undefined],
  "algorithm None": [() => signHeader({ alg: "None" }), "algorithm-not-allowed"],
  "HS256 with the public key in PEM": [
    () => signWithSecret(rsaKey.publicKey.export({ type: "spki", format: "pem" })),
    "algorithm-not-allowed",
  ],
  "HS256 with the public key as a JSON Web Key": [
    () => signWithSecret(JSON.stringify(publicJwk(rsaKey))),
    "algorithm-not-allowed",
  ],
  RS384: [() => signHeader({ alg: "RS384" }), "algorithm-not-allowed"],
  PS256: [() => signHeader({ alg: "PS256" }), "algorithm-not-allowed"],
  "algorithm in lower case": [() => signHeader({ alg: "rs256" }), "algorithm-not-allowed"],
  "algorithms in a list": [() => signHeader({ alg: ["RS256"] }), "algorithm-not-allowed"],
  "ES256 with the id of an RSA key": [
    () => signWorkloadToken(keyOf("curve"), claims(), { kid: rsaKey.kid }),
    "signature-wrong",
  ],
  "RS256 in the header of a signature on a curve": [
    () => signWorkloadToken(keyOf("curve"), claims(), { alg: "RS256" }),
    "signature-wrong",
  ],
  "EdDSA with the id of another key": [
    () => signWorkloadToken(keyOf("edwards"), claims(), { kid: "curve" }),
    "signature-wrong",
  ],

  "key that is not published": [() => signWorkloadToken(unpublished, claims()), "key-unknown"],
  "another key under a published id": [
    () => signWorkloadToken(unpublished, claims(), { kid: rsaKey.kid }),
    "signature-wrong",
  ],
  "no key id": [() => signHeader({ kid: undefined }), "header-not-allowed"],
  "empty key id": [() => signHeader({ kid: "" }), "header-not-allowed"],
  "key id that is a path": [() => signHeader({ kid: "../../dev/null" }), "key-unknown"],
  "key id that is a number": [() => signHeader({ kid: 1 }), "header-not-allowed"],
  "key id of two published keys": [() => signWorkloadToken(keyOf("repeated"), claims()), "signature-wrong"],
  "key in the header": [
    () => signWorkloadToken(unpublished, claims(), { jwk: publicJwk(unpublished), kid: rsaKey.kid }),
    "header-not-allowed",
  ],
  "address of keys in the header": [
    () => signHeader({ jku: "https://attacker.example/keys" }),
    "header-not-allowed",
  ],
  "address of a certificate in the header": [
    () => signHeader({ x5u: "https://attacker.example/c" }),
    "header-not-allowed",
  ],
  "certificate in the header": [() => signHeader({ x5c: ["MIIB"] }), "header-not-allowed"],
  "critical extension": [() => signHeader({ crit: ["b64"], b64: false }), "header-not-allowed"],
  "another type of token": [() => signHeader({ typ: "secevent+jwt" }), "header-not-allowed"],
  "token within a token": [() => signHeader({ cty: "JWT" }), "header-not-allowed"],
  "token as a text within a token": [() => fixture.sign(JSON.stringify(sign())), undefined],
  "encrypted token": [() => `${sign()}.AAAA.AAAA`, undefined],

  "changed signature": [() => replaceSegment(2, (text) => `AAAA${text.slice(4)}`), "signature-wrong"],
  "changed claims": [
    () => replaceSegment(1, () => encode(claims({ environment: "prod" }))),
    "signature-wrong",
  ],
  "signature of another token": [
    () => [...sign().split(".").slice(0, 2), sign().split(".")[2]].join("."),
    "signature-wrong",
  ],
  padding: [() => replaceSegment(2, (text) => `${text}==`), undefined],
  "spaces around it": [() => ` ${sign()}`, undefined],
  "base64 instead of base64url": [() => replaceSegment(1, (text) => `${text}+/`), undefined],
  "no JSON": [() => fixture.sign("not json"), undefined],
  "JSON that is a list": [() => fixture.sign("[]"), undefined],

  expired: [() => sign(times(-3600)), "expired"],
  "from the future": [() => sign(times(3600)), "not-valid-yet"],
  "not valid yet": [() => sign({ nbf: Math.floor(Date.now() / 1000) + 3600 }), "not-valid-yet"],
  "valid for a year": [() => sign({ exp: Math.floor(Date.now() / 1000) + 31_536_000 }), "lifetime-too-long"],
  "no expiry": [() => without("exp"), "claims-incomplete"],
  "no start": [() => without("nbf"), "claims-incomplete"],
  "no time of issue": [() => without("iat"), "claims-incomplete"],
  "expiry as text": [() => sign({ exp: String(times().exp) }), "claims-incomplete"],
  "expiry in milliseconds": [() => sign({ exp: Date.now() + 300_000 }), "claims-incomplete"],
  "no subject": [() => without("sub"), "claims-incomplete"],
  "subject in a list": [() => sign({ sub: ["repo:octo-org@65/octo-repo@74"] }), "claims-incomplete"],
  "subject with a zero character": [() => sign({ sub: "repo\u0000" }), "claims-incomplete"],
  "id in a list": [() => sign({ jti: ["once"] }), "claims-incomplete"],

  "claim that is there twice": [() => withText('"environment":"prod"'), undefined],
  "claim that is there twice, escaped": [() => withText('"\\u0065nvironment":"prod"'), undefined],
  "header parameter that is there twice": [
    () => {
      const header = encode(`{"alg":"none","alg":"RS256","kid":"${rsaKey.kid}"}`);
      return `${header}.${encode(claims())}.AAAA`;
    },
    undefined,
  ],

  "fork of the repository": [
    () => sign({ repository: "mallory/octo-repo", repository_id: "999", repository_owner_id: "998" }),
    "no-rule-matches",
  ],
  "repository of the same name, created again": [() => sign({ repository_id: "75" }), "no-rule-matches"],
  "repository that was given to another owner": [
    () => sign({ repository_owner_id: "66" }),
    "no-rule-matches",
  ],
  "repository id as a number": [() => sign({ repository_id: 74 }), "no-rule-matches"],
  "repository id in a list": [() => sign({ repository_id: ["74"] }), "no-rule-matches"],
  "repository id with a leading zero": [() => sign({ repository_id: "074" }), "no-rule-matches"],
  "pull_request_target with the environment": [
    () => sign({ event_name: "pull_request_target" }),
    "no-rule-matches",
  ],
  "another environment": [() => sign({ environment: "staging" }), "no-rule-matches"],
  "environment in another case": [() => sign({ environment: "Prod" }), "no-rule-matches"],
  "environment with a space": [() => sign({ environment: "prod " }), "no-rule-matches"],
  "environments in a list": [() => sign({ environment: ["prod"] }), "no-rule-matches"],
  "environment that is a wildcard": [() => sign({ environment: "*" }), "no-rule-matches"],
  "no environment": [() => without("environment"), "no-rule-matches"],
  "fork in GitLab": [() => sign({ project_id: "21" }, "gitlab"), "no-rule-matches"],
  "branch that is not protected": [() => sign({ ref_protected: "false" }, "gitlab"), "no-rule-matches"],
  "protected as a boolean": [() => sign({ ref_protected: true }, "gitlab"), "no-rule-matches"],
  "service account of another namespace": [
    () => sign({ sub: "system:serviceaccount:other:my-serviceaccount" }, "kubernetes"),
    "no-rule-matches",
  ],
  "service account with a longer name": [
    () => sign({ sub: "system:serviceaccount:my-namespace:my-serviceaccount2" }, "kubernetes"),
    "no-rule-matches",
  ],
  "claims of GitHub in a token that matches GitLab's rule in part": [
    () => sign({ ref_protected: "false", repository_id: "74", repository_owner_id: "65" }, "gitlab"),
    "no-rule-matches",
  ],
};

function platformOf(name: string): PlatformName {
  if (name.includes("service account")) return "kubernetes";
  return /GitLab|protected/u.test(name) ? "gitlab" : "github";
}

async function lastReason(): Promise<string | undefined> {
  const response = await fixture.owner.browser.request(
    "/api/secrets/audit?type=token-exchange-refused&limit=1",
  );
  // The fields of the event.
  const { items } = (await response.json()) as {
    items: readonly { number: number; body: { reason: string } }[];
  };
  return items[0] === undefined ? undefined : `${items[0].body.reason} ${items[0].number}`;
}

test("forged and confused tokens are refused alike, with the reason in the log, and their twins are accepted", {
  timeout: 240_000,
}, async () => {
  const answers = new Set<string>();
  const wrong: unknown[] = [];
  for (const [name, [forge, reason]] of Object.entries(forgeries)) {
    const before = await lastReason();
    const { status, ...answer } = await fixture.exchange(forge());
    answers.add(JSON.stringify([status, answer]));
    const after = await lastReason();
    const logged = after === before ? undefined : after?.split(" ")[0];
    if (status !== 400 || logged !== reason) wrong.push([name, status, logged, reason]);
    const twin = await fixture.exchange(sign({}, platformOf(name)));
    if (twin.status !== 200) wrong.push([name, "twin", twin]);
  }
  expect(wrong).toEqual([]);
  expect([...answers]).toEqual([expect.stringContaining('"error":"invalid_grant"')]);
  const count = Object.keys(forgeries).length;
  expect(count).toBeGreaterThanOrEqual(60);
  recordFigure({
    claim: "teams 6",
    text: `${count} of ${count} forged or confused tokens refused with one answer, ${count} twins accepted; claims as GitHub, GitLab and Kubernetes document them`,
    counted: { reached: count, needed: 60 },
  });
});

test("signatures of each allowed algorithm are accepted", async () => {
  for (const kid of [rsaKey.kid, "curve", "edwards"]) {
    const { status } = await fixture.exchange(signWorkloadToken(keyOf(kid), claims()));
    expect([kid, status]).toEqual([kid, 200]);
  }
  const audienceList = sign({ aud: [fixture.owner.audience] }, "kubernetes");
  expect((await fixture.exchange(audienceList)).status).toBe(200);
});

test("short RSA keys and private keys in a key set verify nothing", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
  const short = { kid: "short", algorithm: "RS256", privateKey, publicKey } as const;
  const rule = { jwks: { keys: [publicJwk(short)] }, issuer: "https://short.example" };
  await fixture.createRule(fixture.owner, "generic", rule);
  const token = signWorkloadToken(short, claims({ iss: rule.issuer }, "generic"));
  expect((await fixture.exchange(token)).status).toBe(400);
  const long = makeWorkloadKey("RS256", "long");
  const uploaded = { jwks: { keys: [publicJwk(long)] }, issuer: "https://long.example" };
  await fixture.createRule(fixture.owner, "generic", uploaded);
  const accepted = signWorkloadToken(long, claims({ iss: uploaded.issuer }, "generic"));
  expect((await fixture.exchange(accepted)).status).toBe(200);
  const secret = { ...publicJwk(long), d: "AA" };
  const create = fixture.createRule(fixture.owner, "generic", { ...uploaded, jwks: { keys: [secret] } });
  await expect(create).rejects.toThrow("jwks.keys.0");
});
