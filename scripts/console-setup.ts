import { fileURLToPath } from "node:url";
import { buildConsole } from "./build-console.ts";

const place = (path: string): string =>
  fileURLToPath(new URL(`../apps/keep-console/${path}`, import.meta.url));

/** Run by the test runner once, before the first test file: what tests open is the console as it is now. */
export default async function setup(): Promise<void> {
  await buildConsole(place("src"), place("dist"));
}
