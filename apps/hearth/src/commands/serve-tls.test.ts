import { once } from "node:events";
import { readFileSync } from "node:fs";
import { copyFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { type Certificate, keepCertificateFresh } from "@hearth-and-keep/http-service";
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

async function place(files: Files, name: "first" | "second"): Promise<void> {
  await replace(files.cert, `${name}-certificate`);
  await replace(files.key, `${name}-key`);
}

/** In one step, as programs that renew certificates do. */
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
    isReady: (output) => output.includes("Hearth listens on"),
  });
}

function addressOf(hearth: OwnedProcess): URL {
  return new URL(/Hearth listens on (\S+)/.exec(hearth.output())?.[1] ?? "");
}

/** Whose certificate is shown, and what is answered under it. */
async function ask(hearth: OwnedProcess): Promise<{ readonly name: unknown; readonly answer: string }> {
  const { port } = addressOf(hearth);
  const socket = connect({ port: Number(port), host: "127.0.0.1", servername: "localhost", ca: authorities });
  await once(socket, "secureConnect");
  const name = socket.getPeerCertificate().subject.CN;
  socket.write("GET /api/version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  let answer = "";
  for await (const chunk of socket) answer += String(chunk);
  return { name, answer };
}

test("with a certificate the server speaks HTTPS, and shows a new one after SIGHUP without an end", async () => {
  await using folder = await makeTemporaryFolder("tls");
  const files = { cert: join(folder.path, "cert.pem"), key: join(folder.path, "key.pem") };
  await place(files, "first");
  await using hearth = await startHearth(folder.path, files);
  expect(addressOf(hearth).protocol).toBe("https:");
  const before = await ask(hearth);
  expect(before.name).toBe("first.test");
  expect(before.answer).toContain('{"version":');
  await place(files, "second");
  process.kill(hearth.pid, "SIGHUP");
  await expect.poll(() => hearth.output()).toContain("Certificate renewed");
  expect((await ask(hearth)).name).toBe("second.test");
});

test("a certificate that cannot be used is told, and the one in use stays", async () => {
  await using folder = await makeTemporaryFolder("tls");
  const files = { cert: join(folder.path, "cert.pem"), key: join(folder.path, "key.pem") };
  await place(files, "first");
  await using hearth = await startHearth(folder.path, files);
  await replace(files.cert, "second-certificate");
  process.kill(hearth.pid, "SIGHUP");
  await expect.poll(() => hearth.output()).toContain("Certificate not renewed");
  expect((await ask(hearth)).name).toBe("first.test");
});

test("files that change are noticed without a signal, once for each change", async () => {
  await using folder = await makeTemporaryFolder("tls");
  const paths = { certificatePath: join(folder.path, "cert.pem"), keyPath: join(folder.path, "key.pem") };
  const files = { cert: paths.certificatePath, key: paths.keyPath };
  await place(files, "first");
  const current = { cert: readFileSync(files.cert, "utf8"), key: readFileSync(files.key, "utf8") };
  const renewed: Certificate[] = [];
  const problems: unknown[] = [];
  using fresh = keepCertificateFresh(paths, {
    current,
    everySeconds: 0.02,
    onRenewed: (certificate) => renewed.push(certificate),
    onProblem: (problem) => problems.push(problem),
  });
  await replace(files.cert, "second-certificate");
  await expect.poll(() => problems).toHaveLength(1);
  await replace(files.key, "second-key");
  await expect.poll(() => renewed).toHaveLength(1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await fresh.look();
  expect([renewed.length, problems.length]).toEqual([1, 1]);
  expect(renewed[0]?.cert).toBe(authorities[1]);
});

test("what is wrong with a certificate at start is said in a sentence", async () => {
  await using folder = await makeTemporaryFolder("tls");
  const tlsCert = fixture("first-certificate");
  const tlsKey = fixture("first-key");
  const empty = join(folder.path, "empty.pem");
  await writeFile(empty, "");
  const cases: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [{ tlsCert }, "--tls-cert needs --tls-key beside it"],
    [{ tlsKey }, "--tls-key needs --tls-cert beside it"],
    [{ tlsCert, tlsKey: fixture("second-key") }, "they are not PEM or do not belong together"],
    [{ tlsCert, tlsKey: empty }, "they are not PEM or do not belong together"],
    [{ tlsCert: empty, tlsKey }, "they are not PEM or do not belong together"],
    [{ tlsCert, tlsKey: join(folder.path, "missing.pem") }, "one of the files cannot be read"],
    [{ tlsCert, tlsKey }, ""],
  ];
  for (const [flags, sentence] of cases) {
    expect(await startAndEnd({ port: "0", models: folder.path, ...flags })).toBe(
      sentence.startsWith("-") || sentence === ""
        ? sentence
        : `--tls-cert and --tls-key cannot be used: ${sentence}`,
    );
  }
});

/** What keeps the server from starting, or nothing. */
async function startAndEnd(flags: Readonly<Record<string, string>>): Promise<string> {
  const end = new AbortController();
  const served = serve(readServeConfig(flags, undefined), {
    driver: { load: () => Promise.reject(new Error("Cannot load in this test")) },
    logger: createLogger({ level: "silent", allowedFields: logFields, write: () => undefined }),
    print: () => end.abort(),
    signal: end.signal,
    missingProtections: [],
  });
  return served.then(
    () => "",
    (problem: Error) => problem.message,
  );
}
