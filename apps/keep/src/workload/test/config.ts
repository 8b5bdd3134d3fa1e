/** Programs of a Kubernetes control plane, compiled outside the repository. */
export type KubernetesPrograms = { readonly apiServer: string; readonly etcd: string };

const { KUBE_APISERVER: apiServer, ETCD: etcd } = process.env;

/** Empty unless both variables are set. */
export const kubernetesPrograms: readonly KubernetesPrograms[] =
  apiServer === undefined || etcd === undefined ? [] : [{ apiServer, etcd }];

const variables = Object.entries({ KUBE_APISERVER: apiServer, ETCD: etcd });
const missing = variables.filter(([, path]) => path === undefined).map(([name]) => name);

/** The variables that are not set, in one text; empty if both are. */
export const missingPrograms: readonly string[] = missing.length === 0 ? [] : [missing.join(" and ")];

/** Compiles both programs. */
export const buildScript = "apps/keep/src/workload/test/build-kubernetes.sh";
