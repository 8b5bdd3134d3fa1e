import type { Locator, Page } from "playwright-core";

const mostPresses = 80;

export type KeyboardWalkPlan = {
  /** The server's: whatever else is shown on the way is not ours to judge. */
  readonly origin: string;
  /** Boxes that draw the line of what stands in them, as a selector. */
  readonly boxes?: string;
};

/** A person at a page who has no mouse. At each stop the focus must be to be seen. */
export class KeyboardWalk {
  readonly #page: Page;
  readonly #plan: KeyboardWalkPlan;
  #stops = 0;

  constructor(page: Page, plan: KeyboardWalkPlan) {
    this.#page = page;
    this.#plan = plan;
  }

  get stops(): number {
    return this.#stops;
  }

  /** From where the focus is, by the Tab key; fails when it does not come there. */
  async tabTo(target: Locator): Promise<void> {
    await target.waitFor();
    const reached = target.and(this.#page.locator(":focus"));
    for (let presses = 0; presses < mostPresses; presses += 1) {
      if ((await reached.count()) > 0) return;
      await this.#page.keyboard.press("Tab");
      await this.#refuseUnseenFocus();
    }
    throw new Error(`Cannot come to ${String(target)} by ${mostPresses} presses of Tab`);
  }

  async press(target: Locator, key = "Enter"): Promise<void> {
    await this.tabTo(target);
    await this.#page.keyboard.press(key);
  }

  /** Presses what leads to somebody else's page, and comes back once that page is there: no key may go to the old one. */
  async leaveBy(target: Locator): Promise<void> {
    const { origin } = new URL(this.#page.url());
    await this.press(target);
    await this.#page.waitForURL((url) => url.origin !== origin);
  }

  async #refuseUnseenFocus(): Promise<void> {
    const { origin, boxes = ":focus" } = this.#plan;
    if (!this.#page.url().startsWith(origin)) return;
    const unseen = await this.#page.evaluate<string>(findUnseenFocus(boxes));
    if (unseen !== "") throw new Error(`Cannot see the focus at ${unseen}`);
    this.#stops += 1;
  }
}

/** In the page. Behind its last thing is the browser itself; a row of a list draws the line around all of itself. */
const findUnseenFocus = (boxes: string): string => `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return "";
  if (element.hasAttribute("data-base-ui-focus-guard")) return "";
  const box = element.closest(${JSON.stringify(boxes)}) ?? element;
  const styles = [getComputedStyle(element), getComputedStyle(element, "::after"), getComputedStyle(box)];
  const isSeen = styles.some(({ outlineStyle, outlineWidth, outlineColor, content }) =>
    content !== "none" && outlineStyle !== "none" && parseFloat(outlineWidth) > 0 && !outlineColor.endsWith(", 0)"));
  return isSeen ? "" : element.outerHTML.slice(0, 160);
})()`;
