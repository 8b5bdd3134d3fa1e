import { fileURLToPath } from "node:url";
import { buildConsole } from "./build-console.ts";

const place = (path: string): string =>
  fileURLToPath(new URL(`../apps/keep-console/${path}`, import.meta.url));

/**
 * Puts the console where Keep finds it in a clone. Run by hand, and by the test runner once before the first test file:
 * what tests open is the console as it is now.
 */
export default async function setup(): Promise<void> {
  await buildConsole(place("src"), place("dist"));
}

if (import.meta.main) await setup();
