import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findFreePort, makeTemporaryFolder, startProcess } from "@hearth-and-keep/test-servers";
import { pause } from "./aws-kms.ts";
import type { Custodian } from "./custodian.ts";
import { runProgram, withPlainFile } from "./local-custodians.ts";

const decryptPolicy = 'path "transit/decrypt/keep" { capabilities = ["update"] }\n';

/** OpenBao's transit engine, in a server that keeps everything in memory. */
export async function startOpenBao(program: string): Promise<Custodian> {
  const folder = await makeTemporaryFolder("openbao");
  const address = `127.0.0.1:${await findFreePort()}`;
  const server = await startProcess({
    command: program,
    arguments: ["server", "-dev", "-dev-root-token-id=root", `-dev-listen-address=${address}`],
    environment: { HOME: folder.path },
    isReady: (output) => output.includes("Root Token: root"),
  });
  const url = `BAO_ADDR=http://${address}`;
  const bao = async (...args: readonly string[]): Promise<string> =>
    (await runProgram("env", [url, "BAO_TOKEN=root", `HOME=${folder.path}`, program, ...args])).trim();
  const [allowed, denied] = [join(folder.path, "allowed.hcl"), join(folder.path, "denied.hcl")];
  await writeFile(allowed, decryptPolicy);
  await writeFile(denied, decryptPolicy.replace("update", "deny"));
  await bao("secrets", "enable", "transit");
  await bao("write", "-f", "transit/keys/keep");
  const grant = () => bao("policy", "write", "keep", allowed);
  await grant();
  const token = await bao("token", "create", "-policy=keep", "-field=token");
  return {
    folder: folder.path,
    async seal(key, name) {
      const file = join(folder.path, name);
      // The plaintext is in base64, as Keep's keys are written.
      await withPlainFile(Buffer.from(key), async (plain) =>
        writeFile(
          file,
          await bao("write", "-field=ciphertext", "transit/encrypt/keep", `plaintext=@${plain}`),
        ),
      );
      const decrypt = `write -field=plaintext transit/decrypt/keep ciphertext=@${file}`;
      return { file, command: `env ${url} BAO_TOKEN=${token} ${program} ${decrypt}` };
    },
    faults: {
      away: pause(server),
      "permission lost": async () => {
        await bao("policy", "write", "keep", denied);
        return async () => void (await grant());
      },
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await folder[Symbol.asyncDispose]();
    },
  };
}
