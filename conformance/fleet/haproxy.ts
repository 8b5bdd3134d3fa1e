import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  findFreePort,
  type OwnedProcess,
  startProcess,
  type TemporaryFolder,
} from "@hearth-and-keep/test-servers";

export type Balancer = { readonly url: string; readonly process: OwnedProcess };

/** HAProxy configured as in `docs/hearth/deployment.md`: a node that is not ready gets no new requests. */
export async function startBalancer(
  nodes: readonly { readonly url: string }[],
  folder: TemporaryFolder,
): Promise<Balancer> {
  const port = await findFreePort();
  const servers = nodes.map(({ url }, index) => `  server node${index} ${new URL(url).host} check`);
  const path = join(folder.path, "haproxy.cfg");
  await writeFile(path, [...configuration(port), ...servers, ""].join("\n"));
  const owned = await startProcess({
    command: "haproxy",
    arguments: ["-db", "-f", path],
    isReady: () => isOpen(`http://127.0.0.1:${port}/readyz`),
  });
  return { url: `http://127.0.0.1:${port}`, process: owned };
}

function configuration(port: number): readonly string[] {
  return [
    "defaults",
    "  mode http",
    "  timeout connect 2s",
    "  timeout client 10m",
    "  timeout server 10m",
    "  timeout check 5s",
    "  option redispatch",
    "  option httpchk",
    "  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host localhost",
    "  http-check expect status 200",
    "  default-server inter 500ms fall 1 rise 1",
    "listen hearth",
    `  bind 127.0.0.1:${port}`,
    "  balance leastconn",
  ];
}

async function isOpen(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => undefined);
  return response?.ok === true;
}
