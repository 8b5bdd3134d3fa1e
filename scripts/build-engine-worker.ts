import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";

const root = resolve(import.meta.dirname, "..");
const binding = join(root, "node_modules/node-llama-cpp");

const workerProgram = join(root, "packages/llama-engine/src/worker/main.ts");

/**
 * Bundles the program of a model's child process together with the binding's JavaScript. Without the binding's command
 * line and GPU builds it is two megabytes instead of seven hundred. The CPU build is an optional dependency of the
 * program.
 *
 * The binding reads its version two folders above itself and its list of builds one folder above, so the output uses
 * the same depth and both files are copied there.
 */
export async function buildEngineWorker(output: string, program: string = workerProgram): Promise<void> {
  const bundle = await rolldown({
    input: {
      "engine-worker": program,
      // Starts engines on machines without bubblewrap.
      "run-restricted": join(root, "packages/engine-host/src/restriction/run-restricted.ts"),
      // Prepares prompts and grammars for remote engines, in a thread of the server.
      "preparation-thread": join(root, "packages/chat-templates/src/prompt-preparation/thread-main.ts"),
    },
    platform: "node",
    // Builds are resolved where the program is installed; reflink copies files, which a worker never does.
    external: (name) => /^@(?:node-llama-cpp|reflink|koromix)\//u.test(name),
  });
  const { output: chunks } = await bundle.write({ dir: join(output, "engine/worker"), format: "esm" });
  await bundle.close();
  const { version } = JSON.parse(await readFile(join(binding, "package.json"), "utf8"));
  await writeFile(join(output, "package.json"), `${JSON.stringify({ type: "module", version })}\n`);
  await mkdir(join(output, "engine/llama"), { recursive: true });
  for (const name of ["binariesGithubRelease.json", "llama.cpp.info.json"]) {
    await cp(join(binding, "llama", name), join(output, "engine/llama", name));
  }
  const launcher = join(root, "packages/upstream-engine/src/llama-server/launch.py");
  await cp(launcher, join(output, "engine/launch.py"));
  const modules = chunks.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
  await writeFile(join(output, "engine/LICENSES.txt"), await collectLicences(modules));
}

/** The licence of every bundled package, once each. */
export async function collectLicences(modules: readonly string[]): Promise<string> {
  const folders = new Set(
    modules.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(path)?.[0] ?? []),
  );
  const texts: string[] = [];
  for (const folder of [...folders].toSorted()) {
    const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/iu.test(each));
    const text = file === undefined ? "" : await readFile(join(folder, file), "utf8");
    texts.push(`${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}
