import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describeFlags } from "@hearth-and-keep/configuration";
import { recordFigure } from "@hearth-and-keep/figures";
import { createLogger } from "@hearth-and-keep/logging";
import {
  makeTemporaryFolder,
  type OwnedProcess,
  readProcessFile,
  startProcess,
  type TemporaryFolder,
} from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readServeConfig, serveSettings } from "../config.ts";
import { logFields } from "../server.ts";
import { serve } from "./serve.ts";

const program = fileURLToPath(new URL("../../bin/hearth.js", import.meta.url));

let modelsFolder: TemporaryFolder;
beforeAll(async () => {
  modelsFolder = await makeTemporaryFolder("models");
});
afterAll(() => modelsFolder[Symbol.asyncDispose]());

function startHearth(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<OwnedProcess> {
  return startProcess({
    command: process.execPath,
    arguments: [program, "serve", ...args],
    environment: { HEARTH_MODELS: modelsFolder.path, ...environment },
    isReady: (output) => output.includes("Hearth is listening on"),
  });
}

function addressOf(hearth: OwnedProcess): string {
  return /Hearth is listening on (\S+)/.exec(hearth.output())?.[1] ?? "";
}

/** Starts a server that must fail, and returns the error, which contains its output. */
async function startError(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<string> {
  return startHearth(args, environment).then(
    async (hearth) => {
      await hearth.stop();
      return "it started";
    },
    (error: Error) => error.message,
  );
}

test("/api/version reports the API level that clients check", async () => {
  await using hearth = await startHearth(["--port", "0"]);
  const response = await fetch(`${addressOf(hearth)}/api/version`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(await response.text()).toBe('{"version":"0.32.1"}');
});

test("GET and HEAD on the root respond as Ollama's clients expect", async () => {
  await using hearth = await startHearth(["--port", "0"]);
  const head = await fetch(addressOf(hearth), { method: "HEAD" });
  expect([head.status, head.headers.get("content-type"), await head.text()]).toEqual([
    200,
    "text/plain; charset=utf-8",
    "",
  ]);
  expect(await (await fetch(addressOf(hearth))).text()).toBe("Ollama is running");
});

test("SIGTERM stops the server with exit code 0 and closes its port", async () => {
  const hearth = await startHearth(["--port", "0"]);
  await (await fetch(addressOf(hearth))).text();
  process.kill(hearth.pid, "SIGTERM");
  expect(await hearth.exited).toBe(0);
  await expect(fetch(addressOf(hearth))).rejects.toThrow("fetch failed");
});

test("the environment can set the port, and a flag overrides it", async () => {
  await using hearth = await startHearth(["--port", "0"], { HEARTH_PORT: "99999" });
  expect(addressOf(hearth)).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(await startError([], { HEARTH_PORT: "99999" })).toContain(
    "HEARTH_PORT must be an integer from 0 to 65535",
  );
});

test("a port in use is named in the message, with exit code 3 and no stack trace", async () => {
  await using hearth = await startHearth(["--port", "0"]);
  const port = new URL(addressOf(hearth)).port;
  const error = await startError(["--port", port]);
  expect(error).toContain(`it exited with 3`);
  expect(error).toContain(`Cannot listen on 127.0.0.1 port ${port}: another process is using it`);
  expect(error).not.toContain("    at ");
});

test("a non-loopback address is rejected unless it is explicitly allowed", async () => {
  const error = await startError(["--host", "0.0.0.0", "--port", "0"]);
  expect(error).toContain("Cannot listen on 0.0.0.0: other machines");
  expect(error).toMatch(/it exited with [1-9]/);
  // 127.0.0.2 is loopback too, so that the flag can be tested without exposing a port.
  await using hearth = await startHearth(["--host", "127.0.0.2", "--port", "0", "--allow-insecure-bind"]);
  expect((await fetch(addressOf(hearth))).status).toBe(200);
});

test("a non-loopback address is bound when a key is set, and every request needs the key", async () => {
  await using hearth = await startHearth(["--host", "0.0.0.0", "--port", "0"], {
    HEARTH_API_KEY: "canary-key-7f3a9b2e",
  });
  const url = addressOf(hearth).replace("0.0.0.0", "127.0.0.1");
  expect((await fetch(url)).status).toBe(401);
  expect((await fetch(url, { headers: { "x-api-key": "canary-key-7f3a9b2e" } })).status).toBe(200);
});

test("a key given by a flag appears neither in process listings nor in the log", async () => {
  await using hearth = await startHearth(["--port", "0", "--api-key", "canary-flag", "--log-level", "debug"]);
  const headers = { authorization: "Bearer canary-flag" };
  expect((await fetch(addressOf(hearth), { headers })).status).toBe(200);
  expect((await fetch(addressOf(hearth))).status).toBe(401);
  expect(readProcessFile(hearth.pid, "cmdline")).not.toContain("canary-flag");
  await expect.poll(() => hearth.output()).toContain('"keyName":"default"');
  expect(hearth.output()).not.toContain("canary-flag");
});

test("the help text lists every setting with its default", () => {
  const help = execFileSync(process.execPath, [program, "serve", "--help"], { encoding: "utf8" });
  for (const { flags } of describeFlags(serveSettings)) expect(help).toContain(flags);
  expect(help.replaceAll(/\s+/gu, " ")).toContain(
    "port to listen on; 0 selects a free port (default: 11434)",
  );
});

test("each missing sandbox protection is logged at start, and none is logged when none is missing", async () => {
  const all = ["The worker runs as root", "The worker can use all memory"];
  for (const missing of [all, []]) {
    const lines: string[] = [];
    const logger = createLogger({
      level: "info",
      allowedFields: logFields,
      write: (line) => lines.push(line),
    });
    const stop = new AbortController();
    await using folder = await makeTemporaryFolder("models");
    const config = readServeConfig({ port: "0", models: folder.path }, undefined);
    await serve(config, {
      driver: { load: () => Promise.reject(new Error("Cannot load in this test")) },
      logger,
      print: () => stop.abort(),
      signal: stop.signal,
      missingProtections: missing,
    });
    const named = lines.map((line) => JSON.parse(line)).flatMap(({ protection }) => protection ?? []);
    expect(named).toEqual(missing);
  }
  recordFigure({
    claim: "engine 16",
    text: `${all.length} of ${all.length} missing protections named at start`,
    counted: { reached: all.length, needed: 2 },
  });
});
