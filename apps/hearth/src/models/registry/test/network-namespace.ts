import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { cacheFolder, makeTemporaryFolder, seededEnvironment } from "@hearth-and-keep/test-servers";

const configurationFiles = {
  "resolv.conf": "nameserver 127.0.0.1\n",
  "nsswitch.conf": "hosts: files dns\n",
  hosts: "127.0.0.1 localhost\n::1 localhost\n",
};

/**
 * Runs a program in a network namespace where every address is local, so that every connection can be observed.
 * Returns what the program prints.
 */
export async function runInNetworkNamespace(program: URL): Promise<string> {
  await using folder = await makeTemporaryFolder("network-namespace");
  for (const [name, content] of Object.entries(configurationFiles))
    await writeFile(join(folder.path, name), content);
  const script = [
    ...Object.keys(configurationFiles).map(
      (name) => `mount --bind '${join(folder.path, name)}' /etc/${name}`,
    ),
    "ip link set lo up",
    "ip route add local 0.0.0.0/0 dev lo",
    "ip -6 route add local ::/0 dev lo",
    `exec '${process.execPath}' '${fileURLToPath(program)}'`,
  ].join(" && ");
  const certificate = fileURLToPath(new URL("../fixtures/fake-internet-certificate.pem", import.meta.url));
  const child = spawn("unshare", ["--user", "--map-root-user", "--net", "--mount", "sh", "-c", script], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
      HEARTH_AND_KEEP_CACHE: cacheFolder,
      NODE_EXTRA_CA_CERTS: certificate,
      ...seededEnvironment,
    },
  });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (output === "") throw new Error(`Cannot run in a network namespace: ${errors}`);
  return output;
}
