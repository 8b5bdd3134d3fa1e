import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { refreshMembers } from "./discovery.ts";
import { listPods } from "./kubernetes.ts";

const slice = (endpoints: readonly unknown[], addressType = "IPv4") => ({ addressType, endpoints });
const pod = (address: string, ready: boolean | null, name?: string) => ({
  addresses: [address, "10.9.9.9"],
  conditions: { ready },
  ...(name && { targetRef: { kind: "Pod", namespace: "models", name } }),
});

/** A dual-stack service: one pod has both addresses, and one has IPv6 only. */
const items = [
  slice([pod("fd00::8", true), pod("fd00::4", true, "one"), pod("fd00::7", true, "two")], "IPv6"),
  slice([pod("10.1.0.4", true, "one"), pod("10.1.0.5", false, "two"), pod("10.1.0.6", null)]),
  slice([pod("10.1.0.6", true)]),
];

test("the ready pods of a service are its engines, listed with the pod's service account and certificate authority", async () => {
  await using folder = await makeTemporaryFolder("account");
  const [key, certificate] = [join(folder.path, "tls.key"), join(folder.path, "ca.crt")];
  const name = "subjectAltName=IP:127.0.0.1";
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "1",
    ].concat(["-subj", "/CN=cluster", "-addext", name, "-keyout", key, "-out", certificate]),
    { stdio: "ignore" },
  );
  await writeFile(join(folder.path, "token"), "token-of-the-pod\n");
  const requests: { readonly path: string; readonly key: string }[] = [];
  const server = createServer(
    { key: await readFile(key), cert: await readFile(certificate) },
    (request, response) => {
      requests.push({ path: request.url ?? "", key: request.headers.authorization ?? "" });
      response.end(JSON.stringify({ items }));
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  const plan = {
    namespace: "models",
    service: "vllm",
    port: 8000,
    server: new URL(`https://127.0.0.1:${port}`),
    accountFolder: folder.path,
  };
  const controller = new AbortController();
  for await (const addresses of refreshMembers(listPods(plan)).watch(controller.signal)) {
    expect(addresses.map(({ href }) => href)).toEqual([
      "http://[fd00::7]:8000/",
      "http://10.1.0.4:8000/",
      "http://10.1.0.6:8000/",
    ]);
    controller.abort();
  }
  expect(requests).toEqual([
    {
      path: "/apis/discovery.k8s.io/v1/namespaces/models/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dvllm",
      key: "Bearer token-of-the-pod",
    },
  ]);
  server.closeAllConnections();
  server.close();
});
