import { readFile } from "node:fs/promises";
import { askEngine } from "../remote/ask-engine.ts";
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
    const { items } = await askEngine(client, { path }, limit);
    const hosts = listOf(items).flatMap((slice) => hostsOf(fieldsOf(slice)));
    return [...new Set(hosts)].map((host) => new URL(`http://${host}:${plan.port}`));
  };
}

function hostsOf({ addressType, endpoints }: ReturnType<typeof fieldsOf>): readonly string[] {
  return (
    listOf(endpoints)
      .map(fieldsOf)
      // A pod that ends is still listed, as one that is not ready.
      .filter(({ conditions }) => fieldsOf(conditions)["ready"] !== false)
      .flatMap(({ addresses }) => listOf(addresses).map(textOf))
      .filter((address) => address !== "")
      .map((address) => (addressType === "IPv6" ? `[${address}]` : address))
  );
}
