import { recordFigure } from "@hearth-and-keep/figures";
import { KeyboardWalk } from "@hearth-and-keep/test-servers";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tellAnswer } from "./mock-chat-response.ts";
import { type PageStage, startPageStage } from "./page-fixture.ts";

const flows: string[] = [];
const neededFlows = 6;
let stage: PageStage;
let page: Page;
let keys: KeyboardWalk;

beforeAll(async () => {
  stage = await startPageStage({ models: { tiny: "tiny-llama.gguf" } });
  page = await stage.open();
  keys = new KeyboardWalk(page, { origin: stage.url, boxes: ".composer-box, label" });
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 6",
    text: `by keyboard alone: ${flows.join(", ")}; the focus was to be seen at each of ${keys.stops} stops`,
    counted: { reached: flows.length, needed: neededFlows },
  });
});

const button = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
/** `BODY` when something closed or the place changed and nothing has the focus any more. */
const focused = (): Promise<string | undefined> => page.evaluate(() => document.activeElement?.tagName);

test("by keyboard alone: ask, and stop by Escape", async () => {
  await page.route("**/api/chat", () => undefined);
  await keys.tabTo(page.getByLabel("Your question"));
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
  await keys.press(button("Regenerate"));
  await page.getByText("The answer is complete: A whole answer.").waitFor({ state: "attached" });
  expect(await page.locator(".answer [aria-live], .turns[aria-live], .turns [role=log]").count()).toBe(0);
  await keys.press(button("Edit this question"));
  await page.keyboard.press("Control+A");
  await page.keyboard.type("in other words");
  await keys.press(button("Ask anew"));
  await page.getByText("in other words").first().waitFor();
  flows.push("regenerate", "edit");
});

test("by keyboard alone: parameters open, close by Escape and give the focus back", async () => {
  await keys.press(button(/^Parameters/u));
  await page.getByRole("dialog").waitFor();
  await keys.tabTo(page.getByLabel("Temperature"));
  await page.keyboard.type("0.5");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(focused).toBe("BUTTON");
  await page.getByText("1 set").waitFor();
  flows.push("parameters");
});

test("by keyboard alone: single keys lead to the places, and the list of keys tells them", async () => {
  await keys.tabTo(page.getByRole("link", { name: "Hearth" }));
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
  await keys.press(button("Delete tiny:latest"));
  await keys.press(page.getByRole("dialog").getByRole("button", { name: "Cancel" }));
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await keys.press(button("Delete tiny:latest"));
  await keys.press(page.getByRole("dialog").getByRole("button", { name: "Delete" }));
  await page.getByText("No models yet").waitFor();
  expect(await button("Delete tiny:latest").count()).toBe(0);
  flows.push("delete a model");
});
