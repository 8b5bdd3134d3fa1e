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
import { makeKeyText } from "../keys/key-encryption-key.ts";

const program = fileURLToPath(new URL("../../bin/keep.js", import.meta.url));
const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}.pem`, import.meta.url));
const authorities = ["first", "second"].map((name) => readFileSync(fixture(`${name}-certificate`), "utf8"));

/** In one step, as programs that renew certificates do. */
async function place(folder: string, name: "first" | "second"): Promise<void> {
  for (const part of ["certificate", "key"]) {
    await copyFile(fixture(`${name}-${part}`), join(folder, "new.pem"));
    await rename(join(folder, "new.pem"), join(folder, `${part}.pem`));
  }
}

function startKeep(databaseUrl: string, flags: readonly string[]): Promise<OwnedProcess> {
  return startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", "--metrics-port", "0", ...flags],
    environment: { KEEP_DATABASE_URL: databaseUrl, KEEP_ENCRYPTION_KEY: makeKeyText() },
    isReady: (output) => output.includes("Keep is listening on"),
  });
}

/** Whose certificate is shown, and what is answered under it. */
async function ask(keep: OwnedProcess): Promise<{ readonly name: unknown; readonly answer: string }> {
  const { port } = new URL(/Keep is listening on (\S+)/.exec(keep.output())?.[1] ?? "");
  const socket = connect({ port: Number(port), host: "127.0.0.1", servername: "localhost", ca: authorities });
  await once(socket, "secureConnect");
  const name = socket.getPeerCertificate().subject.CN;
  socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  let answer = "";
  for await (const chunk of socket) answer += String(chunk);
  return { name, answer };
}

test("with a certificate Keep speaks HTTPS, and shows a new one after SIGHUP without an end", async () => {
  await using folder = await makeTemporaryFolder("keep-tls");
  await using database = await acquireDatabase({ name: "empty", prepare: () => Promise.resolve() });
  await place(folder.path, "first");
  const paths = ["certificate", "key"].map((part) => join(folder.path, `${part}.pem`));
  await using keep = await startKeep(database.url, [
    "--tls-cert",
    paths[0] ?? "",
    "--tls-key",
    paths[1] ?? "",
  ]);
  expect(keep.output()).toContain("Keep is listening on https:");
  const before = await ask(keep);
  expect(before.name).toBe("first.test");
  expect(before.answer).toContain('{"status":"alive"}');
  await place(folder.path, "second");
  process.kill(keep.pid, "SIGHUP");
  await expect.poll(() => keep.output()).toContain("Certificate renewed");
  expect((await ask(keep)).name).toBe("second.test");
});

test("a certificate without its key is refused in one plain sentence", async () => {
  const refused = startKeep("postgres://nobody@127.0.0.1:1/none", [
    "--tls-cert",
    fixture("first-certificate"),
  ]);
  await expect(refused).rejects.toThrow("--tls-cert requires --tls-key");
});
