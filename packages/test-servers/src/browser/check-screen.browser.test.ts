import { expect, test } from "vitest";
import { captureScreen } from "./check-screen.ts";
import { startBrowser } from "./start-browser.ts";

test("a blank screen and one wider than its window fail, any other passes", async () => {
  await using chromium = await startBrowser();
  const page = await chromium.openPage("about:blank");
  const check = async () => (await captureScreen(page)).problems;
  expect(await check()).toEqual([expect.stringContaining("blank")]);
  await page.setContent("<main><h1>Something</h1><pre>wide</pre></main><hr width=3000>");
  expect(await check()).toEqual([expect.stringContaining("wider")]);
  await page.setContent("<main><h1>Something</h1><pre>wide</pre></main>");
  expect(await check()).toEqual([]);
});
