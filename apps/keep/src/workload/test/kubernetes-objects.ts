import type { Kubernetes } from "./start-kubernetes.ts";

export type ServiceAccount = { readonly namespace: string; readonly name: string };

/** An object that a token can be bound to. */
type BoundObject = {
  readonly apiVersion: "v1";
  readonly kind: "Pod" | "Secret" | "Node";
  readonly name: string;
  readonly uid: string;
};

type Cluster = Pick<Kubernetes, "request">;

/** What the API server adds to an object. */
type Stored = { readonly metadata: { readonly uid: string } };

export async function createNamespace(cluster: Cluster, name: string): Promise<void> {
  await cluster.request("/api/v1/namespaces", { metadata: { name } });
}

export async function createServiceAccount(
  cluster: Cluster,
  { namespace, name }: ServiceAccount,
): Promise<void> {
  await cluster.request(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
}

export async function createNode(cluster: Cluster, name: string): Promise<BoundObject> {
  const created = await cluster.request("/api/v1/nodes", { metadata: { name } });
  return boundTo("Node", name, created);
}

/** A pod on the node; nothing runs in it. */
export async function createPod(
  cluster: Cluster,
  { namespace, name: serviceAccountName }: ServiceAccount,
  { name, nodeName }: { readonly name: string; readonly nodeName: string },
): Promise<BoundObject> {
  const created = await cluster.request(`/api/v1/namespaces/${namespace}/pods`, {
    metadata: { name },
    spec: { serviceAccountName, nodeName, containers: [{ name: "job", image: "job" }] },
  });
  return boundTo("Pod", name, created);
}

export async function createSecret(cluster: Cluster, namespace: string, name: string): Promise<BoundObject> {
  const created = await cluster.request(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name } });
  return boundTo("Secret", name, created);
}

function boundTo(kind: BoundObject["kind"], name: string, created: unknown): BoundObject {
  // The fields of the API.
  const { metadata } = created as Stored;
  return { apiVersion: "v1", kind, name, uid: metadata.uid };
}

/** At once, as the node's agent would do once it has stopped the containers. */
export async function deletePod(cluster: Cluster, namespace: string, name: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  await cluster.request(path, { gracePeriodSeconds: 0 }, "DELETE");
}

export type TokenSpec = {
  readonly audiences: readonly string[];
  readonly expirationSeconds?: number;
  readonly boundObjectRef?: BoundObject;
};

/** A token as the node's agent requests it for a pod. */
export async function requestToken(
  cluster: Cluster,
  { namespace, name }: ServiceAccount,
  spec: TokenSpec,
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  // The fields of the API.
  const { status } = (await cluster.request(path, { spec })) as { status: { token: string } };
  return status.token;
}

/** Whether the API server itself accepts the token for the audience. */
export async function reviewToken(cluster: Cluster, token: string, audience: string): Promise<boolean> {
  const spec = { token, audiences: [audience] };
  // The fields of the API.
  const { status } = (await cluster.request("/apis/authentication.k8s.io/v1/tokenreviews", { spec })) as {
    status: { authenticated?: boolean };
  };
  return status.authenticated === true;
}

/** Lets everybody read the issuer's discovery document and keys, as a cluster does whose issuer is public. */
export async function publishIssuer(cluster: Cluster): Promise<void> {
  await cluster.request("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "public-issuer" },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "system:service-account-issuer-discovery",
    },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:unauthenticated" }],
  });
}

/** The key set exactly as the API server publishes it. */
export async function readPublishedKeys(cluster: Cluster): Promise<{ readonly keys: readonly object[] }> {
  // The fields of the API.
  return (await cluster.request("/openid/v1/jwks")) as { keys: object[] };
}
