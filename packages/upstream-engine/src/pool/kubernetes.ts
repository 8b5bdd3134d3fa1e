import { readFile } from "node:fs/promises";
import { requestEngine } from "../remote/request-engine.ts";
import { createEngineClient } from "../wire/engine-client.ts";
import { fieldsOf, listOf, textOf } from "../wire/json-fields.ts";
import type { AddressSource } from "./discovery.ts";

export type KubernetesPlan = {
  readonly namespace: string;
  readonly service: string;
  readonly port: number;
  /** Of the cluster; a pod finds it by this name. */
  readonly server: URL;
  /** A folder with `token` and `ca.crt`, as every pod has one. */
  readonly accountFolder: string;
};

const answerMilliseconds = 5000;

/** The pods behind a service that say they are ready, from its EndpointSlices. The token is read anew: it changes. */
export function listPods(plan: KubernetesPlan): AddressSource {
  return async (signal) => {
    const token = (await readFile(`${plan.accountFolder}/token`, "utf8")).trim();
    using client = createEngineClient({
      address: plan.server,
      authorization: `Bearer ${token}`,
      certificateAuthority: await readFile(`${plan.accountFolder}/ca.crt`, "utf8"),
    });
    const selector = encodeURIComponent(`kubernetes.io/service-name=${plan.service}`);
    const path = `/apis/discovery.k8s.io/v1/namespaces/${plan.namespace}/endpointslices?labelSelector=${selector}`;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(answerMilliseconds)]);
    const { items } = await requestEngine(client, { path }, limit);
    const found = listOf(items).flatMap((slice) => endpointsOf(fieldsOf(slice)));
    const hosts = new Set(oneFamilyOf(found).map(({ host }) => host));
    return [...hosts].map((host) => new URL(`http://${host}:${plan.port}`));
  };
}

type Endpoint = {
  readonly host: string;
  readonly isVersionSix: boolean;
  /** What it leads to, if it says so. */
  readonly target: string;
};

function endpointsOf({ addressType, endpoints }: ReturnType<typeof fieldsOf>): readonly Endpoint[] {
  const isVersionSix = addressType === "IPv6";
  return (
    listOf(endpoints)
      .map(fieldsOf)
      // A pod that ends is still listed, as one that is not ready.
      .filter(({ conditions }) => fieldsOf(conditions)["ready"] !== false)
      .map(({ addresses, targetRef }) => {
        // What more addresses would mean is not defined.
        const address = textOf(listOf(addresses)[0]);
        const { kind, namespace, name } = fieldsOf(targetRef);
        const target = textOf(name) && [kind, namespace, name].map(textOf).join("/");
        return { host: address && (isVersionSix ? `[${address}]` : address), isVersionSix, target };
      })
      .filter(({ host }) => host !== "")
  );
}

/**
 * A service of both address families lists each pod in a slice of each: IPv4 is taken of those that are the same pod,
 * and of those that do not say which pod they are.
 */
function oneFamilyOf(found: readonly Endpoint[]): readonly Endpoint[] {
  const reached = new Set(found.filter((each) => !each.isVersionSix).map(({ target }) => target));
  return found.filter(({ isVersionSix, target }) => !isVersionSix || !reached.has(target));
}
