import { fileURLToPath } from "node:url";
import { buildPage } from "./build-page.ts";

const pages = [
  { folder: "keep-console", address: "/console/" },
  { folder: "hearth-web", address: "/ui/" },
];

const appPath = (path: string): string => fileURLToPath(new URL(`../apps/${path}`, import.meta.url));

/**
 * Builds Keep's console and Hearth's web UI into the folders that their programs serve in a clone. Run by hand, and by
 * the test runner once before the first test file, so that tests always open the current pages.
 */
export default async function setup(): Promise<void> {
  for (const { folder, address } of pages) {
    await buildPage({ source: appPath(`${folder}/src`), target: appPath(`${folder}/dist`), address });
  }
}

if (import.meta.main) await setup();
