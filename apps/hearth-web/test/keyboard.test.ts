import { recordFigure } from "@hearth-and-keep/figures";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PageStage, startPageStage } from "./page-stage.ts";
import { tellAnswer } from "./told-answer.ts";

const mostPresses = 60;
const flows: string[] = [];
const neededFlows = 6;
let stops = 0;
let stage: PageStage;
let page: Page;

beforeAll(async () => {
  stage = await startPageStage({ models: { tiny: "tiny-llama.gguf" } });
  page = await stage.open();
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 6",
    text: `by keyboard alone: ${flows.join(", ")}; the focus was to be seen at each of ${stops} stops`,
    counted: { reached: flows.length, needed: neededFlows },
  });
});

/** From where the focus is, by the Tab key; fails when it does not come there. */
async function tabTo(target: Locator): Promise<void> {
  await target.waitFor();
  for (let presses = 0; presses < mostPresses; presses += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
    await expectFocusSeen();
  }
  throw new Error(`Cannot come to ${String(target)} by ${mostPresses} presses of Tab`);
}

/** Whatever has the focus has a line around it, or the box it stands in has. */
async function expectFocusSeen(): Promise<void> {
  const found = await page.evaluate(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return "";
    if (element.hasAttribute("data-base-ui-focus-guard")) return "";
    const box = element.closest(".composer-box, label") ?? element;
    const isSeen = [element, box].some((each) => {
      const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(each);
      return outlineStyle !== "none" && parseFloat(outlineWidth) > 0 && !outlineColor.endsWith(", 0)");
    });
    return isSeen ? "" : element.outerHTML.slice(0, 160);
  });
  expect(found).toBe("");
  stops += 1;
}

async function press(target: Locator, key = "Enter"): Promise<void> {
  await tabTo(target);
  await page.keyboard.press(key);
}

const button = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
/** `BODY` when something closed or the place changed and nothing has the focus any more. */
const focused = (): Promise<string | undefined> => page.evaluate(() => document.activeElement?.tagName);

test("by keyboard alone: ask, and stop by Escape", async () => {
  await page.route("**/api/chat", () => undefined);
  await tabTo(page.getByLabel("Your question"));
  await page.keyboard.type("one line");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("and another");
  await page.keyboard.press("Enter");
  await page.getByText("Reading your question").waitFor();
  expect(await page.locator(".said").textContent()).toBe("one line\nand another");
  await page.getByLabel("Your question").focus();
  await page.keyboard.press("Escape");
  await page.getByText("Stopped.", { exact: true }).waitFor();
  flows.push("ask and stop");
});

test("by keyboard alone: regenerate, hear of the end once, and edit", async () => {
  await page.unroute("**/api/chat");
  await tellAnswer(page, { text: "A whole answer." });
  await press(button("Regenerate"));
  await page.getByText("The answer is complete: A whole answer.").waitFor({ state: "attached" });
  expect(await page.locator(".answer [aria-live], .turns[aria-live], .turns [role=log]").count()).toBe(0);
  await press(button("Edit this question"));
  await page.keyboard.press("Control+A");
  await page.keyboard.type("in other words");
  await press(button("Ask anew"));
  await page.getByText("in other words").first().waitFor();
  flows.push("regenerate", "edit");
});

test("by keyboard alone: parameters open, close by Escape and give the focus back", async () => {
  await press(button(/^Parameters/u));
  await page.getByRole("dialog").waitFor();
  await tabTo(page.getByLabel("Temperature"));
  await page.keyboard.type("0.5");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(focused).toBe("BUTTON");
  await page.getByText("1 set").waitFor();
  flows.push("parameters");
});

test("by keyboard alone: single keys lead to the places, and the list of keys tells them", async () => {
  await tabTo(page.getByRole("link", { name: "Hearth" }));
  await page.keyboard.press("2");
  await page.getByRole("heading", { name: "Models", exact: true }).waitFor();
  expect(await focused()).toBe("MAIN");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await expect.poll(focused).toBe("TEXTAREA");
  flows.push("places by keys");
});

test("by keyboard alone: a model is deleted, after a no and then a yes", async () => {
  await page.getByLabel("Your question").press("Shift+Tab");
  await page.keyboard.press("2");
  await press(button("Delete tiny:latest"));
  await press(page.getByRole("dialog").getByRole("button", { name: "Cancel" }));
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await press(button("Delete tiny:latest"));
  await press(page.getByRole("dialog").getByRole("button", { name: "Delete" }));
  await page.getByText("No models yet").waitFor();
  expect(await button("Delete tiny:latest").count()).toBe(0);
  flows.push("delete a model");
});
