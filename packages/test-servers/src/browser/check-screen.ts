import type { Page } from "playwright-core";
import { measureInk, type Region } from "./measure-ink.ts";

const minInk = 0.003;

/**
 * The visible region of the main element, and how much wider than the window the page is. A menu may stick out until it
 * has found its place, a few frames after it appears; a page that is too wide stays so.
 */
const measure = `(async () => {
  const tooWide = () => document.documentElement.scrollWidth - innerWidth;
  const deadline = performance.now() + 1000;
  while (tooWide() > 0 && performance.now() < deadline) await new Promise(requestAnimationFrame);
  const box = (document.querySelector("main") ?? document.documentElement).getBoundingClientRect();
  const [left, top] = [Math.max(0, box.left), Math.max(0, box.top)];
  const width = Math.min(box.right, innerWidth) - left;
  const height = Math.min(Math.max(box.bottom, top + 100), innerHeight) - top;
  return {
    region: { x: Math.floor(left), y: Math.floor(top), width: Math.floor(width), height: Math.floor(height) },
    tooWide: tooWide(),
  };
})()`;

/** A screenshot of the window, and its problems: blank, or wider than the window. */
export async function captureScreen(
  page: Page,
): Promise<{ readonly png: Buffer; readonly problems: Promise<readonly string[]> }> {
  const { region, tooWide } = await page.evaluate<{ region: Region; tooWide: number }>(measure);
  const png = await capture(page);
  const check = async (): Promise<readonly string[]> => {
    const ink = await measureInk(png, region);
    return [
      ...(ink < minInk ? [`blank: only ${ink.toFixed(4)} of it differs from the background`] : []),
      ...(tooWide > 0 ? [`${tooWide} px wider than its window`] : []),
    ];
  };
  return { png, problems: check() };
}

/** Like `page.screenshot`, but with fast compression, which otherwise takes nearly half of the time. */
async function capture(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const captured = await session.send("Page.captureScreenshot", { format: "png", optimizeForSpeed: true });
  await session.detach();
  return Buffer.from(captured.data, "base64");
}

/** Runs axe-core, whose source the caller passes, on the current state of a page. */
export async function findViolations(page: Page, axeSource: string): Promise<readonly string[]> {
  // Injected once, since it is half a megabyte, and not as a script element, which the page's CSP would block.
  if (!(await page.evaluate<boolean>(`"axe" in window`))) await page.evaluate(axeSource);
  return page.evaluate<string[]>(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) =>
      id + ": " + html.slice(0, 160) + " " + failureSummary)))`);
}
