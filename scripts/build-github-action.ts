import { cp, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";

const root = resolve(import.meta.dirname, "..");
const source = join(root, "integrations/github-action");

/**
 * Writes the GitHub Action with everything that it needs to a folder, to be committed to a repository of its own:
 * `sh scripts/with-node.sh scripts/build-github-action.ts FOLDER`.
 */
async function buildGitHubAction(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  // The step after the job is another program.
  for (const name of ["main", "post"]) {
    const bundle = await rolldown({ input: join(source, `src/${name}.ts`), platform: "node" });
    await bundle.write({ file: join(folder, `${name}.mjs`), format: "esm" });
    await bundle.close();
  }
  await cp(join(source, "action.yml"), join(folder, "action.yml"));
  await cp(join(root, "LICENSE"), join(folder, "LICENSE"));
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder to write to");
await buildGitHubAction(resolve(folder));
