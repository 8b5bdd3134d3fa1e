import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { screenshotFolder } from "../config.ts";

/** Saves the full page as `<name>.png` and returns the path; does nothing when no screenshot folder is set. */
export async function takeScreenshot(
  page: Page,
  name: string,
  folder = screenshotFolder,
): Promise<string | undefined> {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
    throw new Error(
      `Cannot take a screenshot: "${name}" is not a name of lower-case letters, digits and hyphens`,
    );
  }
  if (folder === undefined) return undefined;
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, fullPage: true, animations: "disabled" });
  return path;
}
