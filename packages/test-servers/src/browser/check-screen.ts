import type { Page } from "playwright-core";
import { measureInk, type Region } from "./measure-ink.ts";

const leastInk = 0.003;

/** The main part of a page as far as it is in the window, and by how much the page is wider than that. */
const measure = `(() => {
  const box = (document.querySelector("main") ?? document.documentElement).getBoundingClientRect();
  const [left, top] = [Math.max(0, box.left), Math.max(0, box.top)];
  const width = Math.min(box.right, innerWidth) - left;
  const height = Math.min(Math.max(box.bottom, top + 100), innerHeight) - top;
  return {
    region: { x: Math.floor(left), y: Math.floor(top), width: Math.floor(width), height: Math.floor(height) },
    tooWide: document.documentElement.scrollWidth - innerWidth,
  };
})()`;

/** A picture of what is in the window, and what is wrong with it: nothing drawn, or more than fits. */
export async function takePicture(
  page: Page,
): Promise<{ readonly png: Buffer; readonly troubles: Promise<readonly string[]> }> {
  const { region, tooWide } = await page.evaluate<{ region: Region; tooWide: number }>(measure);
  const png = await capture(page);
  const judge = async (): Promise<readonly string[]> => {
    const ink = await measureInk(png, region);
    return [
      ...(ink < leastInk ? [`blank: ${ink.toFixed(4)} of it is drawn on`] : []),
      ...(tooWide > 0 ? [`${tooWide} px wider than its window`] : []),
    ];
  };
  return { png, troubles: judge() };
}

/** As `page.screenshot`, but packed loosely: nearly half of the time of a picture is its packing. */
async function capture(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const taken = await session.send("Page.captureScreenshot", { format: "png", optimizeForSpeed: true });
  await session.detach();
  return Buffer.from(taken.data, "base64");
}

/** What axe-core, whose source the caller gives, finds against a page as it stands there. */
export async function findViolations(page: Page, axeSource: string): Promise<readonly string[]> {
  // Asked first, since it is half a megabyte. Not by a script element: the page's policy holds here as well.
  if (!(await page.evaluate<boolean>(`"axe" in window`))) await page.evaluate(axeSource);
  return page.evaluate<string[]>(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) =>
      id + ": " + html.slice(0, 160) + " " + failureSummary)))`);
}
