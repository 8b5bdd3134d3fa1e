import { isDeepStrictEqual } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import type { TrustRule } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readAs } from "../test/fake-browser.ts";
import { buildScript, kubernetesPrograms, missingPrograms } from "./test/config.ts";
import {
  createNamespace,
  createNode,
  createPod,
  createSecret,
  createServiceAccount,
  deletePod,
  publishIssuer,
  readPublishedKeys,
  requestToken,
  reviewToken,
  type ServiceAccount,
  type TokenSpec,
} from "./test/kubernetes-objects.ts";
import { type Kubernetes, startKubernetes } from "./test/start-kubernetes.ts";
import { type Owner, startWorkloadKeep, type WorkloadKeep } from "./test/start-workload-keep.ts";

const account: ServiceAccount = { namespace: "shop", name: "deploy" };
const otherAccounts = {
  "service account of another namespace": { namespace: "shop-test", name: "deploy" },
  "service account of a namespace whose name ends alike": { namespace: "my-shop", name: "deploy" },
  "another service account of the namespace": { namespace: "shop", name: "read" },
  "service account with a longer name": { namespace: "shop", name: "deploy.all" },
} as const;

const subjectOf = ({ namespace, name }: ServiceAccount) => `system:serviceaccount:${namespace}:${name}`;

/** The header and the claims, without verification. */
function decode(token: string): readonly unknown[] {
  const segments = token.split(".").slice(0, 2);
  return segments.map((segment): unknown => JSON.parse(Buffer.from(segment, "base64url").toString("utf8")));
}

function expiryOf(token: string): number {
  // The API server writes it as a number of seconds.
  const [, { exp }] = decode(token) as [unknown, { exp: number }];
  return exp;
}

/** The first two segments of one token with the signature of another one. */
function withSignatureOf(token: string, other: string): string {
  return [...token.split(".").slice(0, 2), other.split(".")[2]].join(".");
}

/** What Keep does when its clock is so many seconds beyond the token's expiry. */
async function late<Result>(token: string, seconds: number, run: () => Promise<Result>): Promise<Result> {
  vi.useFakeTimers({ toFake: ["Date"], now: (expiryOf(token) + seconds) * 1000 });
  try {
    return await run();
  } finally {
    vi.useRealTimers();
  }
}

/** The newest refusal in the account's log. */
async function lastRefusal({ browser }: Owner) {
  type Page = { items: readonly { number: number; body: { reason: string } }[] };
  const path = "/api/secrets/audit?type=token-exchange-refused&limit=1";
  return (await readAs<Page>(await browser.request(path))).items[0];
}

// CI compiles no Kubernetes, and there a skipped test counts as failed: these tests exist only with the programs.
test.each(missingPrograms)("without %s, the claim falls short and says how to get it", (variables) => {
  expect(variables).toMatch(/KUBE_APISERVER|ETCD/u);
  const text = `no token of a Kubernetes API server was exchanged: set ${variables} to what ${buildScript} compiles`;
  recordFigure({ claim: "teams 6", text, counted: { reached: 0, needed: 1 } });
});

describe.each(kubernetesPrograms)("tokens that a Kubernetes API server signed", (programs) => {
  let cluster: Kubernetes;
  let fixture: WorkloadKeep;
  /** Has a rule with uploaded keys. */
  let owner: Owner;
  let rule: TrustRule;
  /** Has a rule whose keys Keep fetches from the cluster. */
  let fetching: Owner;
  let stranger: Owner;
  let movedMilliseconds = 0;
  const resources = new AsyncDisposableStack();

  beforeAll(async () => {
    cluster = resources.use(await startKubernetes(programs));
    for (const namespace of ["shop", "shop-test", "my-shop"]) await createNamespace(cluster, namespace);
    for (const each of [account, ...Object.values(otherAccounts)]) await createServiceAccount(cluster, each);
    fixture = resources.use(await startWorkloadKeep([cluster]));
    [owner, fetching, stranger] = [fixture.owner, await fixture.addOwner(), await fixture.addOwner()];
    const criteria = {
      issuer: cluster.issuer,
      conditions: [{ claim: "sub", values: [subjectOf(account)] }],
    };
    const jwks = await readPublishedKeys(cluster);
    rule = await fixture.createRule(owner, "kubernetes", { ...criteria, jwks });
    await fixture.createRule(fetching, "kubernetes", criteria);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + movedMilliseconds);
  }, 300_000);
  afterAll(async () => {
    vi.restoreAllMocks();
    await resources.disposeAsync();
  });

  const mint = (spec: Partial<TokenSpec> = {}, of: ServiceAccount = account) =>
    requestToken(cluster, of, { audiences: [owner.audience], expirationSeconds: 600, ...spec });

  const mintSeveral = (count: number, of: Owner) => {
    const spec = { audiences: [of.audience], expirationSeconds: 3600 };
    return Promise.all(Array.from({ length: count }, () => mint(spec)));
  };

  /** The status and, for a refused token, the new reason in the account's log. */
  async function exchange(token: string, of: Owner = owner): Promise<readonly [number, string?]> {
    const before = await lastRefusal(of);
    const { status } = await fixture.exchange(token);
    const after = await lastRefusal(of);
    return after === undefined || after.number === before?.number ? [status] : [status, after.body.reason];
  }

  /** Uploads the keys that the cluster publishes now, exactly as it does. */
  async function uploadKeys(): Promise<void> {
    const body = { jwks: await readPublishedKeys(cluster) };
    await readAs(
      await owner.browser.request(`/api/secrets/trust-rules/${rule.id}`, { method: "PATCH", body }),
    );
  }

  test("are exchanged once as they are, bound to nothing, to a pod on a node, to a secret or to a node", async () => {
    const node = await createNode(cluster, "node-1");
    const pod = await createPod(cluster, account, { name: "deploy-1", nodeName: "node-1" });
    const secret = await createSecret(cluster, account.namespace, "lease");
    const referTo = ({ name, uid }: typeof node) => ({ name, uid });
    const bindings = [
      { bound: undefined, claims: {} },
      { bound: pod, claims: { pod: referTo(pod), node: referTo(node) } },
      { bound: secret, claims: { secret: referTo(secret) } },
      { bound: node, claims: { node: referTo(node) } },
    ];
    const uid = expect.stringMatching(/^[0-9a-f-]{36}$/u);
    for (const { bound, claims } of bindings) {
      const token = await mint(bound === undefined ? {} : { boundObjectRef: bound });
      const issuedAt = expiryOf(token) - 600;
      expect(decode(token)).toEqual([
        { alg: "RS256", kid: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/u) },
        {
          aud: [owner.audience],
          iss: cluster.issuer,
          sub: "system:serviceaccount:shop:deploy",
          jti: uid,
          iat: issuedAt,
          nbf: issuedAt,
          exp: issuedAt + 600,
          "kubernetes.io": { namespace: "shop", serviceaccount: { name: "deploy", uid }, ...claims },
        },
      ]);
      const { status, access_token: issued = "" } = await fixture.exchange(token);
      expect(status).toBe(200);
      expect((await fixture.keep.request("/api/secrets/vaults", { token: issued })).status).toBe(200);
      expect(await exchange(token)).toEqual([400, "already-exchanged"]);
    }
  });

  test("are refused for another audience, account, time or signature, and their twins are accepted", async () => {
    const refusals = listRefusals();
    const wrong: unknown[] = [];
    for (const [name, { forge, twin = mint, reason, log, secondsLate }] of Object.entries(refusals)) {
      const token = await forge();
      const refuse = () => exchange(token, log);
      const refused = await (secondsLate === undefined ? refuse() : late(token, secondsLate, refuse));
      if (!isDeepStrictEqual(refused, reason === undefined ? [400] : [400, reason]))
        wrong.push([name, refused]);
      const genuine = await twin();
      const accept = () => exchange(genuine);
      const accepted = await (secondsLate === undefined ? accept() : late(genuine, secondsLate - 5, accept));
      if (!isDeepStrictEqual(accepted, [200])) wrong.push([name, "twin", accepted]);
    }
    expect(wrong).toEqual([]);
    const count = Object.keys(refusals).length;
    const text = `${count} of ${count} tokens that kube-apiserver ${cluster.version} signed for something else refused, ${count} twins accepted`;
    recordFigure({ claim: "teams 6", text, counted: { reached: count, needed: 14 } });
  });

  type Refusal = {
    readonly forge: () => Promise<string>;
    /** Accepted; by default a token of the right service account for the right audience. */
    readonly twin?: () => Promise<string>;
    /** As the account's log says it; undefined where the token names no account. */
    readonly reason?: string;
    /** Whose log it is; by default the owner's. */
    readonly log?: Owner;
    /** By how much Keep's clock is beyond the token's expiry; five seconds less for the twin. */
    readonly secondsLate?: number;
  };

  function listRefusals(): Readonly<Record<string, Refusal>> {
    const forAudiences = (...audiences: string[]) => ({ forge: () => mint({ audiences }) });
    const otherAccount = otherAccounts["another service account of the namespace"];
    const ofOthers = Object.entries(otherAccounts).map(([name, of]) => {
      const refusal: Refusal = { forge: () => mint({}, of), reason: "no-rule-matches" };
      return [name, refusal] as const;
    });
    return {
      "the API server's own audience": forAudiences(),
      "audience with a trailing slash": forAudiences(`${owner.audience}/`),
      "audience of another server": forAudiences("https://keep.example.net"),
      "two audiences": forAudiences(owner.audience, "https://kubernetes.default.svc"),
      "audiences of two accounts": forAudiences(owner.audience, fetching.audience),
      "the same audience twice": forAudiences(owner.audience, owner.audience),
      "audience of an account without a rule": {
        ...forAudiences(stranger.audience),
        reason: "no-rule-for-issuer",
        log: stranger,
      },
      ...Object.fromEntries(ofOthers),
      "valid for a second more than a day": {
        forge: () => mint({ expirationSeconds: 86_401 }),
        reason: "lifetime-too-long",
        twin: () => mint({ expirationSeconds: 86_400 }),
      },
      "signature of another service account's token": {
        forge: async () => withSignatureOf(await mint(), await mint({}, otherAccount)),
        reason: "signature-wrong",
      },
      "expired for a minute": { forge: mint, reason: "expired", secondsLate: 60 },
    };
  }

  test("give a token of the account that their audience names, and of no other", async () => {
    const { access_token: token = "" } = await fixture.exchange(await mint());
    const path = `/api/secrets/vaults/${owner.vaultId}`;
    expect((await fixture.keep.request(path, { token })).status).toBe(200);
    const foreign = `/api/secrets/vaults/${fetching.vaultId}`;
    expect((await fixture.keep.request(foreign, { token })).status).toBe(404);
  });

  test("are not extended to a year, which the API server does for its own audience only", async () => {
    const pod = await createPod(cluster, account, { name: "deploy-2", nodeName: "node-2" });
    const issuedAt = Date.now() / 1000;
    // The lifetime that pods get by default, which older clients outlive.
    const spec = { boundObjectRef: pod, expirationSeconds: 3607 };
    const token = await mint(spec);
    expect(Math.abs(expiryOf(token) - issuedAt - 3607)).toBeLessThan(60);
    expect(await exchange(token)).toEqual([200]);
    const extended = await mint({ ...spec, audiences: [] });
    expect(expiryOf(extended) - issuedAt).toBeGreaterThan(300 * 86_400);
    expect(await exchange(extended)).toEqual([400]);
  });

  test("of a deleted pod are accepted until they expire, because Keep does not ask the cluster", async () => {
    const pod = await createPod(cluster, account, { name: "deploy-3", nodeName: "node-3" });
    const [first, second] = [await mint({ boundObjectRef: pod }), await mint({ boundObjectRef: pod })];
    expect(await reviewToken(cluster, first, owner.audience)).toBe(true);
    await deletePod(cluster, account.namespace, pod.name);
    // The API server remembers for ten seconds which tokens it accepted.
    const review = () => reviewToken(cluster, first, owner.audience);
    await expect.poll(review, { timeout: 60_000, interval: 500 }).toBe(false);
    expect(await exchange(first)).toEqual([200]);
    expect(await late(second, 60, () => exchange(second))).toEqual([400, "expired"]);
    expect(await late(second, 55, () => exchange(second))).toEqual([200]);
  });

  test("verify with keys that Keep fetches once everybody may read them", async () => {
    const token = await mint({ audiences: [fetching.audience] });
    expect(await exchange(token, fetching)).toEqual([400, "issuer-unavailable"]);
    await publishIssuer(cluster);
    movedMilliseconds += 31_000;
    expect(await exchange(token, fetching)).toEqual([200]);
  });

  test("verify during a rotation with both keys, and afterwards with the new one only", async () => {
    const [oldUploaded = "", oldLater = ""] = await mintSeveral(2, owner);
    const [oldFetched = "", oldKnown = "", oldGone = ""] = await mintSeveral(3, fetching);
    const nextKey = await cluster.makeKey("ES256");

    await cluster.restart([nextKey, cluster.firstKey]);
    const [newUploaded = ""] = await mintSeveral(1, owner);
    expect(decode(newUploaded)[0]).toMatchObject({ alg: "ES256" });
    expect(await exchange(newUploaded)).toEqual([400, "key-unknown"]);
    await uploadKeys();
    expect([await exchange(newUploaded), await exchange(oldUploaded)]).toEqual([[200], [200]]);
    const [newFetched = ""] = await mintSeveral(1, fetching);
    movedMilliseconds += 31_000;
    expect([await exchange(newFetched, fetching), await exchange(oldFetched, fetching)]).toEqual([
      [200],
      [200],
    ]);

    await cluster.restart([nextKey]);
    await uploadKeys();
    const [newLater = ""] = await mintSeveral(1, owner);
    expect([await exchange(newLater), await exchange(oldLater)]).toEqual([[200], [400, "key-unknown"]]);
    // Fetched keys are used for ten minutes.
    expect(await exchange(oldKnown, fetching)).toEqual([200]);
    movedMilliseconds += 601_000;
    const [newGone = ""] = await mintSeveral(1, fetching);
    expect([await exchange(newGone, fetching), await exchange(oldGone, fetching)]).toEqual([
      [200],
      [400, "key-unknown"],
    ]);
    const text =
      "uploaded and fetched keys followed a rotation from RSA to ECDSA, each key as long as it was published";
    recordFigure({ claim: "teams 6", text });
  });
});
