import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import {
  makeTemporaryFolder,
  type OwnedProcess,
  readProcessFile,
  startPostgres,
  startProcess,
  testModel,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { type Installed, packAndInstall } from "./pack-and-install.ts";

function startInstalled(
  { program }: Installed,
  plan: { folder: string; environment?: Record<string, string> },
): Promise<OwnedProcess> {
  return startProcess({
    command: program,
    arguments: ["serve", "--port", "0"],
    isReady: (output) => output.includes("listening on"),
    folder: plan.folder,
    // A person's shell sets no cache of compiled code, which would add to the resident memory.
    environment: { ...plan.environment, NODE_DISABLE_COMPILE_CACHE: "1" },
  });
}

function addressOf(server: OwnedProcess): string {
  return /listening on (\S+)/.exec(server.output())?.[1] ?? "";
}

/** Exercises the installed worker, the binding and its native build. */
async function generateText(hearth: OwnedProcess, model: string): Promise<string> {
  const body = JSON.stringify({ model, prompt: "Hello", stream: false, options: { num_predict: 8 } });
  const response = await fetch(`${addressOf(hearth)}/api/generate`, { method: "POST", body });
  expect(response.status, await response.clone().text()).toBe(200);
  // The response of Ollama's API.
  return ((await response.json()) as { readonly response: string }).response;
}

async function fetchAndStop(server: OwnedProcess, path: string): Promise<string> {
  const body = await (await fetch(`${addressOf(server)}${path}`)).text();
  process.kill(server.pid, "SIGTERM");
  expect(await server.exited).toBe(0);
  return body;
}

test("Hearth's tarball installs and starts in an empty folder, without GPU packages", {
  timeout: 180_000,
}, async () => {
  await using folder = await makeTemporaryFolder("hearth-tarball");
  const installed = packAndInstall("hearth", folder.path);
  const models = join(folder.path, "models");
  const from = await testModel("tiny-llama.gguf");
  execFileSync(installed.program, ["create", "tiny", "--from", from, "--models", models], {
    cwd: folder.path,
  });
  await using hearth = await startInstalled(installed, {
    folder: folder.path,
    environment: { HEARTH_MODELS: models },
  });
  expect(await generateText(hearth, "tiny")).toMatch(/\S/);
  expect(await fetchAndStop(hearth, "/api/version")).toBe('{"version":"0.32.1"}');
  recordFigure({ claim: "ground 3", text: installed.summary });
});

test("Keep's tarball installs, includes its migrations, starts on an empty database and idles in little memory", {
  timeout: 180_000,
}, async () => {
  await using folder = await makeTemporaryFolder("keep-tarball");
  await using postgres = await startPostgres();
  await using database = await postgres.createDatabase();
  const installed = packAndInstall("keep", folder.path);
  const key = execFileSync(installed.program, ["generate-key"], {
    cwd: folder.path,
    encoding: "utf8",
  }).trim();
  const environment = {
    KEEP_DATABASE_URL: database.url,
    KEEP_ENCRYPTION_KEY: key,
    KEEP_METRICS_PORT: "0",
  };
  await using keep = await startInstalled(installed, { folder: folder.path, environment });
  await expect.poll(() => statusOf(keep, "/readyz"), { timeout: 10_000 }).toBe(200);
  const megabytes = await measureIdle(keep);
  expect(megabytes).toBeLessThan(maxIdleMegabytes);
  const document = await (await fetch(`${addressOf(keep)}/openapi.json`)).text();
  expect(document).toContain('"openapi":"3.1.0"');
  expect(await statusOf(keep, "/secrets")).toBe(200);
  expect(await fetchAndStop(keep, "/readyz")).toBe('{"status":"ready"}');
  recordFigure({ claim: "ground 3", text: installed.summary });
  recordFigure({
    claim: "keep 15",
    text: `${megabytes.toFixed(1)} MB resident, idle, of at most ${maxIdleMegabytes}, the installed tarball with its database`,
  });
});

const maxIdleMegabytes = 120;
const idleSeconds = 20;

async function statusOf(server: OwnedProcess, path: string): Promise<number> {
  return (await fetch(`${addressOf(server)}${path}`)).status;
}

/** The maximum resident memory while the server receives no requests. */
async function measureIdle({ pid }: OwnedProcess): Promise<number> {
  let max = 0;
  for (let second = 0; second < idleSeconds; second += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const kibibytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(readProcessFile(pid, "status"))?.[1]);
    max = Math.max(max, (kibibytes * 1024) / 1e6);
  }
  return max;
}
