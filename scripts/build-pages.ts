import { fileURLToPath } from "node:url";
import { buildPage } from "./build-page.ts";

const pages = [
  { folder: "keep-console", address: "/console/" },
  { folder: "hearth-web", address: "/ui/" },
];

const place = (path: string): string => fileURLToPath(new URL(`../apps/${path}`, import.meta.url));

/**
 * Puts Keep's console and Hearth's page where their programs find them in a clone. Run by hand, and by the test runner
 * once before the first test file: what tests open is the page as it is now.
 */
export default async function setup(): Promise<void> {
  for (const { folder, address } of pages) {
    await buildPage({ source: place(`${folder}/src`), place: place(`${folder}/dist`), address });
  }
}

if (import.meta.main) await setup();
