import type { Locator, Page } from "playwright-core";

const maxPresses = 80;

export type KeyboardWalkPlan = {
  /** The server's origin; pages of other origins are not checked. */
  readonly origin: string;
  /** Selector of containers that draw the focus outline for their content. */
  readonly boxes?: string;
};

/** Operates a page with the keyboard alone. The focus must be visible at each stop. */
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

  /** Presses Tab until the target has the focus; fails when it is not reached. */
  async tabTo(target: Locator): Promise<void> {
    await target.waitFor();
    const reached = target.and(this.#page.locator(":focus"));
    for (let presses = 0; presses < maxPresses; presses += 1) {
      if ((await reached.count()) > 0) return;
      await this.#page.keyboard.press("Tab");
      await this.#requireVisibleFocus();
    }
    throw new Error(`Cannot reach ${String(target)} with ${maxPresses} presses of Tab`);
  }

  async press(target: Locator, key = "Enter"): Promise<void> {
    await this.tabTo(target);
    await this.#page.keyboard.press(key);
  }

  /** Follows a link to another origin, and resolves once that page is loaded, so that no key goes to the old one. */
  async leaveBy(target: Locator): Promise<void> {
    const { origin } = new URL(this.#page.url());
    await this.press(target);
    await this.#page.waitForURL((url) => url.origin !== origin);
  }

  async #requireVisibleFocus(): Promise<void> {
    const { origin, boxes = ":focus" } = this.#plan;
    if (!this.#page.url().startsWith(origin)) return;
    const hidden = await this.#page.evaluate<string>(findHiddenFocus(boxes));
    if (hidden !== "") throw new Error(`The focus is not visible at ${hidden}`);
    this.#stops += 1;
  }
}

/** Runs in the page. After the last element the focus moves to the browser; a list row outlines itself as a whole. */
const findHiddenFocus = (boxes: string): string => `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return "";
  if (element.hasAttribute("data-base-ui-focus-guard")) return "";
  const box = element.closest(${JSON.stringify(boxes)}) ?? element;
  const styles = [getComputedStyle(element), getComputedStyle(element, "::after"), getComputedStyle(box)];
  const isVisible = styles.some(({ outlineStyle, outlineWidth, outlineColor, content }) =>
    content !== "none" && outlineStyle !== "none" && parseFloat(outlineWidth) > 0 && !outlineColor.endsWith(", 0)"));
  return isVisible ? "" : element.outerHTML.slice(0, 160);
})()`;
