import { cp, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { collectLicences } from "./build-engine-worker.ts";

const root = resolve(import.meta.dirname, "..");

/**
 * Bundles the program that parses documents with its parser into one folder, which is all that its sandbox can read. The
 * names end with `.mjs`, so that Node.js does not look for a package.json above it.
 */
export async function buildDocumentReader(output: string): Promise<void> {
  const folder = join(output, "documents");
  const bundle = await rolldown({
    input: { "read-document": join(root, "packages/document-text/src/worker/main.ts") },
    platform: "node",
  });
  const { output: chunks } = await bundle.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name].mjs",
  });
  await bundle.close();
  await cp(join(root, "node_modules/pdfjs-dist/cmaps"), join(folder, "cmaps"), { recursive: true });
  const codec = join(root, "node_modules/@jsquash/webp/codec");
  await cp(join(codec, "dec/webp_dec.wasm"), join(folder, "webp_dec.wasm"));
  await cp(join(codec, "LICENSE.codec.md"), join(folder, "LICENSE.libwebp.md"));
  const modules = chunks.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
  await writeFile(join(folder, "LICENSES.txt"), await collectLicences(modules));
}
