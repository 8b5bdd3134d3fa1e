import { setTimeout } from "node:timers/promises";
import type { Locator } from "playwright-core";

const patienceMilliseconds = 20_000;
const pauseMilliseconds = 30;

/** As `waitFor`, which soon looks only twice a second: here what appears is seen at once. */
export async function appear(target: Locator): Promise<void> {
  const end = performance.now() + patienceMilliseconds;
  // While a page is being loaded there is nobody to ask.
  while (!(await target.isVisible().catch(() => false))) {
    // In its words, when there is nothing or too much.
    if (performance.now() > end) return target.waitFor({ timeout: pauseMilliseconds });
    await setTimeout(pauseMilliseconds);
  }
}

/** A click, without the waiting of `click` for what is not there yet. */
export async function press(target: Locator): Promise<void> {
  await appear(target);
  await target.click();
}
