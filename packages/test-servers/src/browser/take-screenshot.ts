import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { screenshotFolder } from "../config.ts";

/** Saves the whole page as `<name>.png` and gives the path; does nothing when no folder for screens is set. */
export async function photograph(
  page: Page,
  name: string,
  folder = screenshotFolder,
): Promise<string | undefined> {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
    throw new Error(
      `Cannot photograph the page: "${name}" is not a name of small letters, digits and hyphens`,
    );
  }
  if (folder === undefined) return undefined;
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, fullPage: true, animations: "disabled" });
  return path;
}
