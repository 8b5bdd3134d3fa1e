import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";

export type PagePlan = {
  /** The folder with `main.tsx`, `index.html` and `design/`. */
  readonly source: string;
  /** The folder that the files are put into. */
  readonly place: string;
  /** Where the server gives the files out, with a slash at its end. */
  readonly address: string;
};

/**
 * Makes a browser app into files that any web server can give out: one page, its style, and scripts whose names hold
 * the hash of their content, so that they may be kept for ever. Plain CSS in the order of its files' names.
 */
export async function buildPage({ source, place, address }: PagePlan): Promise<void> {
  // Built beside and put into place in one go: another process may be reading what is there.
  const output = `${place}-${randomUUID()}`;
  await mkdir(output, { recursive: true });
  const bundle = await rolldown({
    input: { main: join(source, "main.tsx") },
    platform: "browser",
    transform: { jsx: { runtime: "automatic" }, define: { "process.env.NODE_ENV": '"production"' } },
    // Libraries mark their files for servers that render; ours does not.
    onLog: (level, log, handle) => {
      if (log.code !== "MODULE_LEVEL_DIRECTIVE") handle(level, log);
    },
  });
  const { output: chunks } = await bundle.write({
    dir: output,
    format: "esm",
    minify: true,
    entryFileNames: "[name]-[hash].js",
    chunkFileNames: "[name]-[hash].js",
  });
  await bundle.close();
  const main = chunks.find((chunk) => chunk.type === "chunk" && chunk.isEntry)?.fileName;
  if (main === undefined) throw new Error("Cannot build: there is no entry");
  const style = await writeStyle(join(source, "design"), output);
  const page = await readFile(join(source, "index.html"), "utf8");
  await writeFile(
    join(output, "index.html"),
    page.replace("main.tsx", `${address}${main}`).replace("theme.css", `${address}${style}`),
  );
  await putIntoPlace(output, place);
}

async function putIntoPlace(made: string, place: string): Promise<void> {
  const old = `${made}-old`;
  await rename(place, old).catch(() => undefined);
  await rename(made, place).catch(() => rm(made, { recursive: true }));
  await rm(old, { recursive: true, force: true });
}

async function writeStyle(folder: string, output: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".css"));
  // What others build on comes first.
  const ordered = names.toSorted(
    (one, other) => Number(other === "theme.css") - Number(one === "theme.css") || one.localeCompare(other),
  );
  const parts = await Promise.all(ordered.map((name) => readStyle(join(folder, name))));
  const css = parts
    .join("\n")
    .replaceAll(/\/\*[\s\S]*?\*\//gu, "")
    .replaceAll(/\n\s*\n/gu, "\n");
  const name = `style-${createHash("sha256").update(css).digest("hex").slice(0, 8)}.css`;
  await writeFile(join(output, name), css);
  return name;
}

/** With what it imports before it: a page asks for one file of style. */
async function readStyle(path: string): Promise<string> {
  const { resolve } = createRequire(path);
  const text = await readFile(path, "utf8");
  const imported = [...text.matchAll(/@import "([^"]+)";/gu)].map(([, name = ""]) =>
    readStyle(resolve(name)),
  );
  return [...(await Promise.all(imported)), text.replaceAll(/@import "[^"]+";/gu, "")].join("\n");
}
