import { readFile } from "node:fs/promises";
import { requestEngine } from "../remote/request-engine.ts";
import { createEngineClient } from "../wire/engine-client.ts";
import { fieldsOf, listOf, textOf } from "../wire/json-fields.ts";
import type { AddressSource } from "./discovery.ts";

export type KubernetesPlan = {
  readonly namespace: string;
  readonly service: string;
  readonly port: number;
  /** The address of the cluster's API server. */
  readonly server: URL;
  /** The service account folder with `token` and `ca.crt`, which every pod has. */
  readonly accountFolder: string;
};

const timeoutMilliseconds = 5000;

/** Lists the ready pods of a service from its EndpointSlices. The token is read every time, because it is rotated. */
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
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMilliseconds)]);
    const { items } = await requestEngine(client, { path }, limit);
    const found = listOf(items).flatMap((slice) => endpointsOf(fieldsOf(slice)));
    const hosts = new Set(dropDuplicates(found).map(({ host }) => host));
    return [...hosts].map((host) => new URL(`http://${host}:${plan.port}`));
  };
}

type Endpoint = {
  readonly host: string;
  readonly isIpv6: boolean;
  /** The object behind the endpoint, if known. */
  readonly target: string;
};

function endpointsOf({ addressType, endpoints }: ReturnType<typeof fieldsOf>): readonly Endpoint[] {
  const isIpv6 = addressType === "IPv6";
  return (
    listOf(endpoints)
      .map(fieldsOf)
      // A terminating pod is still listed, as not ready.
      .filter(({ conditions }) => fieldsOf(conditions)["ready"] !== false)
      .map(({ addresses, targetRef }) => {
        // The meaning of further addresses is not defined.
        const address = textOf(listOf(addresses)[0]);
        const { kind, namespace, name } = fieldsOf(targetRef);
        const target = textOf(name) && [kind, namespace, name].map(textOf).join("/");
        return { host: address && (isIpv6 ? `[${address}]` : address), isIpv6, target };
      })
      .filter(({ host }) => host !== "")
  );
}

/**
 * A dual-stack service lists each pod in one slice per address family. IPv4 wins for endpoints of the same pod, and for
 * endpoints without a target.
 */
function dropDuplicates(found: readonly Endpoint[]): readonly Endpoint[] {
  const ipv4Targets = new Set(found.filter((each) => !each.isIpv6).map(({ target }) => target));
  return found.filter(({ isIpv6, target }) => !isIpv6 || !ipv4Targets.has(target));
}
