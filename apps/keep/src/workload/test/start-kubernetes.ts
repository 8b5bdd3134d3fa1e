import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import {
  findFreePort,
  makeTemporaryFolder,
  type OwnedProcess,
  startProcess,
} from "@hearth-and-keep/test-servers";
import type { KubernetesPrograms } from "./config.ts";

/** A key of service account tokens, as two PEM files. */
type AccountKey = { readonly privatePath: string; readonly publicPath: string };

export type Kubernetes = AsyncDisposable & {
  /** As the API server reports it, e.g. "v1.36.3". */
  readonly version: string;
  /** Where the API server listens, which is also the issuer of its tokens. */
  readonly issuer: string;
  readonly host: string;
  /** Of the authority that signed the API server's certificate. */
  readonly certificate: string;
  /** Signs tokens until the first restart. */
  readonly firstKey: AccountKey;
  makeKey(algorithm: "RS256" | "ES256"): Promise<AccountKey>;
  /** Starts the API server again on the same data. Tokens are signed with the first key; all are published. */
  restart(keys: readonly [AccountKey, ...AccountKey[]]): Promise<void>;
  /** A request of the cluster's administrator; throws for an error. */
  request(path: string, body?: object, method?: string): Promise<unknown>;
};

/** Ends with this process. */
const bound = ["--pdeathsig", "TERM"] as const;
const readyWithinSeconds = 90;

/** The API server of a cluster without nodes or controllers, on loopback. */
export async function startKubernetes(programs: KubernetesPrograms): Promise<Kubernetes> {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await makeTemporaryFolder("kubernetes")).path;
  const etcdUrl = await startEtcd(programs.etcd, folder, cleanup);
  const host = `127.0.0.1:${await findFreePort()}`;
  const adminToken = randomBytes(24).toString("hex");
  await writeFile(join(folder, "tokens.csv"), `${adminToken},admin,admin,system:masters\n`, { mode: 0o600 });
  const plan = { program: programs.apiServer, folder, etcdUrl, host, adminToken };
  const makeKey = createKeyMaker(folder);
  const firstKey = await makeKey("RS256");
  let server = await startApiServer(plan, [firstKey]);
  cleanup.defer(() => server.stop());
  const request: Kubernetes["request"] = (path, body, method) => send(plan, { path, body, method });
  // The fields of the API.
  const { gitVersion } = (await request("/version")) as { gitVersion: string };
  const owned = cleanup.move();
  return {
    version: gitVersion,
    issuer: `https://${host}`,
    host,
    certificate: await readAuthority(folder),
    firstKey,
    makeKey,
    async restart(keys) {
      await server.stop();
      server = await startApiServer(plan, keys);
    },
    request,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function startEtcd(program: string, folder: string, cleanup: AsyncDisposableStack): Promise<string> {
  const [url, peerUrl] = [
    `http://127.0.0.1:${await findFreePort()}`,
    `http://127.0.0.1:${await findFreePort()}`,
  ];
  const settings = {
    "data-dir": join(folder, "etcd"),
    "listen-client-urls": url,
    "advertise-client-urls": url,
    "listen-peer-urls": peerUrl,
    "initial-advertise-peer-urls": peerUrl,
    "initial-cluster": `default=${peerUrl}`,
    "log-level": "warn",
    // What it stores lasts for one test.
    "unsafe-no-fsync": "true",
  };
  cleanup.use(
    await startProcess({
      command: "setpriv",
      arguments: [
        ...bound,
        program,
        ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
      ],
      isReady: async () => (await fetch(`${url}/health`).catch(() => undefined))?.ok === true,
      readyWithinSeconds,
    }),
  );
  return url;
}

function createKeyMaker(folder: string): Kubernetes["makeKey"] {
  let count = 0;
  return async (algorithm) => {
    count += 1;
    const { privateKey, publicKey } =
      algorithm === "RS256"
        ? generateKeyPairSync("rsa", { modulusLength: 2048 })
        : generateKeyPairSync("ec", { namedCurve: "P-256" });
    const key = { privatePath: join(folder, `${count}.key`), publicPath: join(folder, `${count}.pub`) };
    await writeFile(key.privatePath, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    await writeFile(key.publicPath, publicKey.export({ type: "spki", format: "pem" }));
    return key;
  };
}

type ApiServerPlan = {
  readonly program: string;
  readonly folder: string;
  readonly etcdUrl: string;
  readonly host: string;
  readonly adminToken: string;
};

function startApiServer(
  plan: ApiServerPlan,
  keys: readonly [AccountKey, ...AccountKey[]],
): Promise<OwnedProcess> {
  const { program, folder, etcdUrl, host } = plan;
  const settings = {
    "etcd-servers": etcdUrl,
    "bind-address": "127.0.0.1",
    "advertise-address": "127.0.0.1",
    "secure-port": host.slice(host.indexOf(":") + 1),
    // It creates a certificate there at the first start.
    "cert-dir": folder,
    "authorization-mode": "RBAC",
    "token-auth-file": join(folder, "tokens.csv"),
    "service-account-issuer": `https://${host}`,
    "service-account-signing-key-file": keys[0].privatePath,
    "service-cluster-ip-range": "10.0.0.0/24",
    // It would refuse to publish a loopback address as the cluster's.
    "endpoint-reconciler-type": "none",
  };
  return startProcess({
    command: "setpriv",
    arguments: [
      ...bound,
      program,
      ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
      ...keys.map(({ publicPath }) => `--service-account-key-file=${publicPath}`),
    ],
    isReady: () => isReady(plan),
    readyWithinSeconds,
  });
}

async function isReady(plan: ApiServerPlan): Promise<boolean> {
  if (!existsSync(certificatePath(plan.folder))) return false;
  setDefaultCACertificates([...getCACertificates("default"), await readAuthority(plan.folder)]);
  const ready = await fetch(`https://${plan.host}/readyz`, { headers: authorize(plan) }).catch(
    () => undefined,
  );
  return ready?.ok === true;
}

function certificatePath(folder: string): string {
  return join(folder, "apiserver.crt");
}

/** The file contains the API server's certificate, then that of the authority which signed it. */
async function readAuthority(folder: string): Promise<string> {
  const text = await readFile(certificatePath(folder), "utf8");
  return text.slice(text.lastIndexOf("-----BEGIN CERTIFICATE-----"));
}

function authorize({ adminToken }: ApiServerPlan): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${adminToken}` };
}

type AdminRequest = {
  readonly path: string;
  readonly body: object | undefined;
  readonly method: string | undefined;
};

async function send(plan: ApiServerPlan, { path, body, method }: AdminRequest): Promise<unknown> {
  const response = await fetch(`https://${plan.host}${path}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...authorize(plan), "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok)
    throw new Error(`The API server returned ${response.status} for ${path}: ${await response.text()}`);
  return response.json();
}
