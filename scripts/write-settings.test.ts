import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { renderSettingsPages } from "./write-settings.ts";

test("the settings pages match the declarations of the programs", () => {
  const pages = renderSettingsPages();
  expect(pages.size).toBe(2);
  for (const [path, text] of pages) expect(readFileSync(path, "utf8"), "run 'npm run settings'").toBe(text);
});
