import { once } from "node:events";
import { readFileSync } from "node:fs";
import { copyFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { type Certificate, watchCertificate } from "@hearth-and-keep/http-service";
import { createLogger } from "@hearth-and-keep/logging";
import { makeTemporaryFolder, type OwnedProcess, startProcess } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { readServeConfig } from "../config.ts";
import { logFields } from "../server.ts";
import { serve } from "./serve.ts";

const program = fileURLToPath(new URL("../../bin/hearth.js", import.meta.url));
const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}.pem`, import.meta.url));
const authorities = ["first", "second"].map((name) => readFileSync(fixture(`${name}-certificate`), "utf8"));

type Files = { readonly cert: string; readonly key: string };

async function install(files: Files, name: "first" | "second"): Promise<void> {
  await replace(files.cert, `${name}-certificate`);
  await replace(files.key, `${name}-key`);
}

/** Replaces a file atomically, as certificate renewal tools do. */
async function replace(path: string, name: string): Promise<void> {
  await copyFile(fixture(name), `${path}.new`);
  await rename(`${path}.new`, path);
}

function startHearth(folder: string, files: Partial<Files>): Promise<OwnedProcess> {
  const flags = Object.entries(files).flatMap(([name, path]) => [`--tls-${name}`, path]);
  return startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", ...flags],
    environment: { HEARTH_MODELS: folder },
    isReady: (output) => output.includes("Hearth is listening on"),
  });
}

function addressOf(hearth: OwnedProcess): URL {
  return new URL(/Hearth is listening on (\S+)/.exec(hearth.output())?.[1] ?? "");
}

/** The subject of the server's certificate, and a response over TLS. */
async function request(hearth: OwnedProcess): Promise<{ readonly name: unknown; readonly response: string }> {
  const { port } = addressOf(hearth);
  const socket = connect({ port: Number(port), host: "127.0.0.1", servername: "localhost", ca: authorities });
  await once(socket, "secureConnect");
  const name = socket.getPeerCertificate().subject.CN;
  socket.write("GET /api/version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  let response = "";
  for await (const chunk of socket) response += String(chunk);
  return { name, response };
}

test("with a certificate the server speaks HTTPS, and SIGHUP reloads it without a restart", async () => {
  await using folder = await makeTemporaryFolder("tls");
  const files = { cert: join(folder.path, "cert.pem"), key: join(folder.path, "key.pem") };
  await install(files, "first");
  await using hearth = await startHearth(folder.path, files);
  expect(addressOf(hearth).protocol).toBe("https:");
  const before = await request(hearth);
  expect(before.name).toBe("first.test");
  expect(before.response).toContain('{"version":');
  await install(files, "second");
  process.kill(hearth.pid, "SIGHUP");
  await expect.poll(() => hearth.output()).toContain("Certificate renewed");
  expect((await request(hearth)).name).toBe("second.test");
});

test("an invalid new certificate is logged, and the current one stays in use", async () => {
  await using folder = await makeTemporaryFolder("tls");
  const files = { cert: join(folder.path, "cert.pem"), key: join(folder.path, "key.pem") };
  await install(files, "first");
  await using hearth = await startHearth(folder.path, files);
  await replace(files.cert, "second-certificate");
  process.kill(hearth.pid, "SIGHUP");
  await expect.poll(() => hearth.output()).toContain("Certificate not renewed");
  expect((await request(hearth)).name).toBe("first.test");
});

test("changed certificate files are detected without a signal, once per change", async () => {
  await using folder = await makeTemporaryFolder("tls");
  const paths = { certificatePath: join(folder.path, "cert.pem"), keyPath: join(folder.path, "key.pem") };
  const files = { cert: paths.certificatePath, key: paths.keyPath };
  await install(files, "first");
  const current = { cert: readFileSync(files.cert, "utf8"), key: readFileSync(files.key, "utf8") };
  const renewed: Certificate[] = [];
  const errors: unknown[] = [];
  using fresh = watchCertificate(paths, {
    current,
    everySeconds: 0.02,
    onRenewed: (certificate) => renewed.push(certificate),
    onError: (error) => errors.push(error),
  });
  await replace(files.cert, "second-certificate");
  await expect.poll(() => errors).toHaveLength(1);
  await replace(files.key, "second-key");
  await expect.poll(() => renewed).toHaveLength(1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await fresh.check();
  expect([renewed.length, errors.length]).toEqual([1, 1]);
  expect(renewed[0]?.cert).toBe(authorities[1]);
});

test("an invalid certificate at start is rejected with a message", async () => {
  await using folder = await makeTemporaryFolder("tls");
  const tlsCert = fixture("first-certificate");
  const tlsKey = fixture("first-key");
  const empty = join(folder.path, "empty.pem");
  await writeFile(empty, "");
  const cases: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [{ tlsCert }, "--tls-cert requires --tls-key"],
    [{ tlsKey }, "--tls-key requires --tls-cert"],
    [
      { tlsCert, tlsKey: fixture("second-key") },
      "they are not PEM, or the key does not belong to the certificate",
    ],
    [{ tlsCert, tlsKey: empty }, "they are not PEM, or the key does not belong to the certificate"],
    [{ tlsCert: empty, tlsKey }, "they are not PEM, or the key does not belong to the certificate"],
    [{ tlsCert, tlsKey: join(folder.path, "missing.pem") }, "one of the files cannot be read"],
    [{ tlsCert, tlsKey }, ""],
  ];
  for (const [flags, message] of cases) {
    expect(await startError({ port: "0", models: folder.path, ...flags })).toBe(
      message.startsWith("-") || message === ""
        ? message
        : `--tls-cert and --tls-key cannot be used: ${message}`,
    );
  }
});

/** Starts and stops a server, and returns the error message, or "" if it started. */
async function startError(flags: Readonly<Record<string, string>>): Promise<string> {
  const stop = new AbortController();
  const served = serve(readServeConfig(flags, undefined), {
    driver: { load: () => Promise.reject(new Error("Cannot load in this test")) },
    logger: createLogger({ level: "silent", allowedFields: logFields, write: () => undefined }),
    print: () => stop.abort(),
    signal: stop.signal,
    missingProtections: [],
  });
  return served.then(
    () => "",
    (error: Error) => error.message,
  );
}
