import { once } from "node:events";
import { readFileSync } from "node:fs";
import { copyFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import {
  acquireDatabase,
  makeTemporaryFolder,
  type OwnedProcess,
  startProcess,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { generateKeyText } from "../keys/key-encryption-key.ts";

const program = fileURLToPath(new URL("../../bin/keep.js", import.meta.url));
const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}.pem`, import.meta.url));
const authorities = ["first", "second"].map((name) => readFileSync(fixture(`${name}-certificate`), "utf8"));

/** Replaces each file atomically, as certificate renewal tools do. */
async function installCertificate(folder: string, name: "first" | "second"): Promise<void> {
  for (const part of ["certificate", "key"]) {
    await copyFile(fixture(`${name}-${part}`), join(folder, "new.pem"));
    await rename(join(folder, "new.pem"), join(folder, `${part}.pem`));
  }
}

function startKeep(databaseUrl: string, flags: readonly string[]): Promise<OwnedProcess> {
  return startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", "--metrics-port", "0", ...flags],
    environment: { KEEP_DATABASE_URL: databaseUrl, KEEP_ENCRYPTION_KEY: generateKeyText() },
    isReady: (output) => output.includes("Keep is listening on"),
  });
}

/** The common name of the server's certificate, and its response. */
async function fetchHealth(
  keep: OwnedProcess,
): Promise<{ readonly name: unknown; readonly response: string }> {
  const { port } = new URL(/Keep is listening on (\S+)/.exec(keep.output())?.[1] ?? "");
  const socket = connect({ port: Number(port), host: "127.0.0.1", servername: "localhost", ca: authorities });
  await once(socket, "secureConnect");
  const name = socket.getPeerCertificate().subject.CN;
  socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  let response = "";
  for await (const chunk of socket) response += String(chunk);
  return { name, response };
}

test("Keep serves HTTPS and reloads its certificate on SIGHUP without a restart", async () => {
  await using folder = await makeTemporaryFolder("keep-tls");
  await using database = await acquireDatabase({ name: "empty", prepare: () => Promise.resolve() });
  await installCertificate(folder.path, "first");
  const paths = ["certificate", "key"].map((part) => join(folder.path, `${part}.pem`));
  await using keep = await startKeep(database.url, [
    "--tls-cert",
    paths[0] ?? "",
    "--tls-key",
    paths[1] ?? "",
  ]);
  expect(keep.output()).toContain("Keep is listening on https:");
  const before = await fetchHealth(keep);
  expect(before.name).toBe("first.test");
  expect(before.response).toContain('{"status":"alive"}');
  await installCertificate(folder.path, "second");
  process.kill(keep.pid, "SIGHUP");
  await expect.poll(() => keep.output()).toContain("Certificate renewed");
  expect((await fetchHealth(keep)).name).toBe("second.test");
});

test("a certificate without its key is rejected with a clear message", async () => {
  const refused = startKeep("postgres://nobody@127.0.0.1:1/none", [
    "--tls-cert",
    fixture("first-certificate"),
  ]);
  await expect(refused).rejects.toThrow("--tls-cert requires --tls-key");
});
