/**
 * @module
 * TypeScript clients generated from OpenAPI documents by a widely used generator, to test that the documents are good for
 * more than reading. The generator and its compiler are installed into the cache from `scripts/openapi-client`, where
 * every package is pinned by hash; nothing of it is part of this repository's own dependencies.
 * Imported, through the package's index, by tests.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder, childEnvironment, downloadEnvironment } from "../config.ts";
import { createOnce } from "../create-once.ts";

const run = promisify(execFile);
const manifests = fileURLToPath(new URL("../../../../scripts/openapi-client/", import.meta.url));
const installMilliseconds = 300_000;
const runMilliseconds = 120_000;

/** Writes the client to `client/` in the folder, beside the programs that use it. */
export async function generateClient(document: string, folder: string): Promise<void> {
  const generator = await prepareGenerator();
  const input = join(folder, "openapi.json");
  await writeFile(input, document);
  const settings = {
    input,
    output: { path: join(folder, "client"), module: { extension: ".ts" } },
    plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
    logs: { level: "silent" },
  };
  const settingsPath = join(folder, "openapi-ts.config.mjs");
  await writeFile(settingsPath, `export default ${JSON.stringify(settings)};\n`);
  const program = join(generator, "node_modules/@hey-api/openapi-ts/bin/run.js");
  await runNode([program, "--file", settingsPath, "--no-log-file"], folder);
}

/** Type errors of the TypeScript files in the folder, in strict mode; empty when there are none. */
export async function findTypeErrors(folder: string): Promise<string> {
  const compiler = join(await prepareGenerator(), "node_modules/typescript/lib/tsc.js");
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "esnext",
    module: "nodenext",
    types: [],
    lib: ["esnext", "dom", "dom.iterable"],
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  };
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["**/*.ts"] }));
  return runNode([compiler, "--project", folder], folder).then(
    () => "",
    // The error of a program that failed.
    ({ stdout = "the compiler did not run" }: { readonly stdout?: string }) => stdout,
  );
}

async function prepareGenerator(): Promise<string> {
  const lock = await readFile(join(manifests, "package-lock.json"));
  const fingerprint = createHash("sha256").update(lock).digest("hex").slice(0, 16);
  return createOnce({
    path: join(cacheFolder, `openapi-client-${fingerprint}`),
    async create(folder) {
      await cp(manifests, folder, { recursive: true });
      const options = { cwd: folder, env: downloadEnvironment(), timeout: installMilliseconds };
      await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], options);
    },
  });
}

async function runNode(args: readonly string[], folder: string): Promise<void> {
  // The generator's loader of settings keeps compiled files in the temporary folder.
  const env = { ...childEnvironment(), TMPDIR: folder };
  const options = { cwd: folder, env, timeout: runMilliseconds };
  await run(process.execPath, [...args], options);
}
