import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import {
  makeTemporaryFolder,
  type OwnedProcess,
  startPostgres,
  startProcess,
  testModel,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { cleanEnvironment, searchPath } from "../config.ts";
import { root } from "../run-to-end.ts";

type Installed = { readonly program: string; readonly summary: string };

function npm(folder: string, words: readonly string[]): void {
  execFileSync("npm", [...words, "--loglevel=error"], {
    cwd: folder,
    env: { ...cleanEnvironment(), PATH: searchPath },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

/** Packs one program and installs the tarball into an empty folder, as somebody without the clone would. */
function packAndInstall(name: string, folder: string): Installed {
  npm(join(root, "apps", name), ["pack", "--pack-destination", folder]);
  const tarball = readdirSync(folder).find((file) => file.endsWith(".tgz")) ?? "";
  const startedAt = performance.now();
  npm(folder, ["install", "--prefix", folder, `./${tarball}`]);
  const seconds = (performance.now() - startedAt) / 1000;
  const packages = installedPackages(join(folder, "node_modules"));
  const forGpu = packages.filter((each) => /cuda|vulkan|rocm|metal/.test(each));
  expect(packages).toContain(`@hearth-and-keep/${name}`);
  expect(forGpu, "packages for a GPU were fetched").toEqual([]);
  const megabytes = folderBytes(join(folder, "node_modules")) / 1e6;
  return {
    program: join(folder, "node_modules/.bin", name),
    summary: `${name} ${megabytes.toFixed(1)} MB, ${packages.length} packages, ${forGpu.length} for a GPU, installed in ${seconds.toFixed(1)} s`,
  };
}

function folderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function installedPackages(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) =>
      name.startsWith("@") ? readdirSync(join(folder, name)).map((inner) => `${name}/${inner}`) : [name],
    );
}

function startInstalled(
  { program }: Installed,
  plan: { folder: string; environment?: Record<string, string> },
): Promise<OwnedProcess> {
  return startProcess({
    command: program,
    arguments: ["serve", "--port", "0"],
    isReady: (output) => output.includes("listens on"),
    ...plan,
  });
}

function addressOf(server: OwnedProcess): string {
  return /listens on (\S+)/.exec(server.output())?.[1] ?? "";
}

/** From the worker, the binding and its build, all as they were installed. */
async function generateText(hearth: OwnedProcess, model: string): Promise<string> {
  const body = JSON.stringify({ model, prompt: "Hello", stream: false, options: { num_predict: 8 } });
  const response = await fetch(`${addressOf(hearth)}/api/generate`, { method: "POST", body });
  expect(response.status, await response.clone().text()).toBe(200);
  // The local-runner family's answer.
  return ((await response.json()) as { readonly response: string }).response;
}

async function askAndStop(server: OwnedProcess, path: string): Promise<string> {
  const answer = await (await fetch(`${addressOf(server)}${path}`)).text();
  process.kill(server.pid, "SIGTERM");
  expect(await server.exited).toBe(0);
  return answer;
}

test("Hearth's tarball installs and starts in an empty folder, without packages for a GPU", {
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
  expect(await askAndStop(hearth, "/api/version")).toBe('{"version":"0.32.1"}');
  recordFigure({ claim: "ground 3", text: installed.summary });
});

test("Keep's tarball installs, brings its migrations and starts on an empty database", {
  timeout: 180_000,
}, async () => {
  await using folder = await makeTemporaryFolder("keep-tarball");
  await using postgres = await startPostgres();
  await using database = await postgres.createDatabase();
  const installed = packAndInstall("keep", folder.path);
  const key = execFileSync(installed.program, ["make-key"], { cwd: folder.path, encoding: "utf8" }).trim();
  const environment = { KEEP_DATABASE_URL: database.url, KEEP_ENCRYPTION_KEY: key };
  await using keep = await startInstalled(installed, { folder: folder.path, environment });
  expect(await askAndStop(keep, "/readyz")).toBe('{"status":"ready"}');
  recordFigure({ claim: "ground 3", text: installed.summary });
});
