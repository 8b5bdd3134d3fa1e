/**
 * @module
 * Scripts that maintain the repository: building tarballs, preparing test dependencies, running CI.
 * Run through `scripts/with-node.sh`; nothing in `apps/` or `packages/` imports them.
 */
import { existsSync } from "node:fs";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { buildDocumentReader } from "./build-document-reader.ts";
import { buildEngineWorker, collectLicences } from "./build-engine-worker.ts";
import { buildPage } from "./build-page.ts";

/**
 * Our own files; the JavaScript of `koffi`, whose package also has the sources of its builds, which are separate; and
 * `typebox`, whose hundreds of files take a third of a second to load.
 */
const bundled = /^(?:[./]|@hearth-and-keep\/|koffi$|typebox(?:$|\/))/u;

/**
 * Bundles one program as JavaScript into its `dist/`. Workspace packages are inlined, because Node does not strip types
 * under node_modules; third-party packages stay external. Runs as `prepack`, in the program's own folder.
 */
async function buildProgram(folder: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const declared = new Set(Object.keys(manifest.dependencies ?? {}));
  const optional = new Set(Object.keys(manifest.optionalDependencies ?? {}));
  const output = join(folder, "dist");
  await rm(output, { recursive: true, force: true });
  const bundle = await rolldown({
    input: { main: join(folder, "src/main.ts"), ...sandboxedProgram(folder) },
    platform: "node",
    external: (name) => !bundled.test(name),
  });
  const { output: chunks } = await bundle.write({ dir: output, format: "esm", sourcemap: true });
  await bundle.close();
  const imported = new Set(
    chunks
      .flatMap((chunk) => (chunk.type === "chunk" ? [...chunk.imports, ...chunk.dynamicImports] : []))
      .map(packageOf),
  );
  const needed = [...imported].filter((name) => !isOwnOrNode(name) && !optional.has(name));
  compareDependencies(declared, new Set(needed));
  await cp(join(folder, "src/database/migrations"), join(output, "migrations"), { recursive: true }).catch(
    ignoreMissing,
  );
  for (const { source, name, address } of pagesOf(folder))
    if (existsSync(source)) await buildPage({ source, target: join(output, name), address });
  await cp(join(import.meta.dirname, "../LICENSE"), join(output, "LICENSE"));
  const modules = chunks.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
  await writeFile(join(output, "LICENSES.txt"), await collectLicences(modules));
  const inlined = manifest.devDependencies ?? {};
  if ("@hearth-and-keep/llama-engine" in inlined) await buildEngineWorker(output);
  if ("@hearth-and-keep/document-text" in inlined) await buildDocumentReader(output);
}

/** The first process in the sandbox of `keep run --agent`, a file of its own. */
function sandboxedProgram(folder: string): Readonly<Record<string, string>> {
  const forwarder = join(folder, "src/client/agent/forwarder.ts");
  return existsSync(forwarder) ? { forwarder } : {};
}

/** A program's browser app is a separate app next to it. */
function pagesOf(folder: string) {
  return [
    { source: `${folder}-console/src`, name: "console", address: "/console/" },
    { source: `${folder}-web/src`, name: "page", address: "/ui/" },
  ];
}

function packageOf(specifier: string): string {
  const [first = "", second = ""] = specifier.split("/");
  return first.startsWith("@") ? `${first}/${second}` : first;
}

function isOwnOrNode(name: string): boolean {
  return name.endsWith(".js") || name.startsWith("node:") || builtinModules.includes(name);
}

/** A missing dependency breaks the installed program; a surplus one is downloaded for nothing. */
function compareDependencies(declared: ReadonlySet<string>, imported: ReadonlySet<string>): void {
  const missing = [...imported.difference(declared)];
  const surplus = [...declared.difference(imported)];
  if (missing.length + surplus.length > 0) {
    throw new Error(
      `Cannot build: dependencies missing [${missing.join(", ")}], surplus [${surplus.join(", ")}]`,
    );
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

await buildProgram(process.cwd());
