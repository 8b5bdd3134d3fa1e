import { setTimeout } from "node:timers/promises";
import type { Locator } from "playwright-core";

const timeoutMilliseconds = 20_000;
const pollMilliseconds = 30;

/** Like `waitFor`, which slows down to two polls per second; this polls every 30 ms. */
export async function appear(target: Locator): Promise<void> {
  const deadline = performance.now() + timeoutMilliseconds;
  // The check rejects while a page is loading.
  while (!(await target.isVisible().catch(() => false))) {
    // Fails with Playwright's own error, for no match or too many.
    if (performance.now() > deadline) return target.waitFor({ timeout: pollMilliseconds });
    await setTimeout(pollMilliseconds);
  }
}

/** Clicks as soon as the target appears, without the slower polling of `click`. */
export async function press(target: Locator): Promise<void> {
  await appear(target);
  await target.click();
}
