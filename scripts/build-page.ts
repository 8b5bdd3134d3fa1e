import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";

export type PagePlan = {
  /** The folder with `main.tsx`, `index.html` and `design/`. */
  readonly source: string;
  /** The folder that the files are written to. */
  readonly target: string;
  /** The URL path that the files are served under, with a trailing slash. */
  readonly address: string;
};

/**
 * Bundles a browser app into static files: one HTML page, its stylesheet, and scripts whose names contain the hash of
 * their content, so that clients can cache them forever. Plain CSS, concatenated in the order of its files' names.
 */
export async function buildPage({ source, target, address }: PagePlan): Promise<void> {
  // Built next to the target and renamed, because another process may be reading the current files.
  const output = `${target}-${randomUUID()}`;
  await mkdir(output, { recursive: true });
  const bundle = await rolldown({
    input: { main: join(source, "main.tsx") },
    platform: "browser",
    transform: { jsx: { runtime: "automatic" }, define: { "process.env.NODE_ENV": '"production"' } },
    // Libraries carry directives for server-side rendering, which does not apply here.
    onLog: (level, log, handle) => {
      if (log.code !== "MODULE_LEVEL_DIRECTIVE") handle(level, log);
    },
  });
  const { output: chunks } = await bundle.write({
    dir: output,
    format: "esm",
    minify: true,
    // Small modules that several parts share would each become a file that the first screen requests.
    codeSplitting: { groups: [{ name: "shared", minShareCount: 4, maxModuleSize: 6000 }] },
    entryFileNames: "[name]-[hash].js",
    chunkFileNames: "[name]-[hash].js",
  });
  await bundle.close();
  const main = chunks.find((chunk) => chunk.type === "chunk" && chunk.isEntry)?.fileName;
  if (main === undefined) throw new Error("Cannot build the page: the bundle has no entry chunk");
  const style = await writeStyle(join(source, "design"), output);
  const page = await readFile(join(source, "index.html"), "utf8");
  await writeFile(
    join(output, "index.html"),
    page.replace("main.tsx", `${address}${main}`).replace("theme.css", `${address}${style}`),
  );
  await replaceFolder(target, output);
}

async function replaceFolder(target: string, replacement: string): Promise<void> {
  const old = `${replacement}-old`;
  await rename(target, old).catch(() => undefined);
  await rename(replacement, target).catch(() => rm(replacement, { recursive: true }));
  await rm(old, { recursive: true, force: true });
}

async function writeStyle(folder: string, output: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".css"));
  // The theme comes first, because the other files build on it.
  const ordered = names.toSorted(
    (one, other) => Number(other === "theme.css") - Number(one === "theme.css") || one.localeCompare(other),
  );
  const texts = await Promise.all(ordered.map((name) => readStyle(join(folder, name))));
  const css = texts
    .join("\n")
    .replaceAll(/\/\*[\s\S]*?\*\//gu, "")
    .replaceAll(/\n\s*\n/gu, "\n");
  const name = `style-${createHash("sha256").update(css).digest("hex").slice(0, 8)}.css`;
  await writeFile(join(output, name), css);
  return name;
}

/** Inlines imports, so that a page loads a single stylesheet. */
async function readStyle(path: string): Promise<string> {
  const { resolve } = createRequire(path);
  const text = await readFile(path, "utf8");
  const imported = [...text.matchAll(/@import "([^"]+)";/gu)].map(([, name = ""]) =>
    readStyle(resolve(name)),
  );
  return [...(await Promise.all(imported)), text.replaceAll(/@import "[^"]+";/gu, "")].join("\n");
}
