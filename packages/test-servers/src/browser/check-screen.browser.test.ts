import { expect, test } from "vitest";
import { takePicture } from "./check-screen.ts";
import { startBrowser } from "./start-browser.ts";

test("a blank screen, and one wider than its window, do not pass; one that is neither does", async () => {
  await using chromium = await startBrowser();
  const page = await chromium.openPage("about:blank");
  const judge = async () => (await takePicture(page)).troubles;
  expect(await judge()).toEqual([expect.stringContaining("blank")]);
  await page.setContent("<main><h1>Something</h1><pre>wide</pre></main><hr width=3000>");
  expect(await judge()).toEqual([expect.stringContaining("wider")]);
  await page.setContent("<main><h1>Something</h1><pre>wide</pre></main>");
  expect(await judge()).toEqual([]);
});
