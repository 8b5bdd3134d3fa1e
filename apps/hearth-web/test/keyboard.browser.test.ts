import { recordFigure } from "@hearth-and-keep/figures";
import { KeyboardWalk } from "@hearth-and-keep/test-servers";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mockChatResponse } from "./mock-chat-response.ts";
import { mockUsage, ordinaryRows } from "./mock-usage.ts";
import { startWebUi, type WebUiFixture } from "./web-ui-fixture.ts";

const flows: string[] = [];
const neededFlows = 7;
let fixture: WebUiFixture;
let page: Page;
let keys: KeyboardWalk;

beforeAll(async () => {
  fixture = await startWebUi({ models: { tiny: "tiny-llama.gguf" } });
  page = await fixture.open();
  keys = new KeyboardWalk(page, { origin: fixture.url, boxes: ".composer-box, label" });
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 6",
    text: `by keyboard alone: ${flows.join(", ")}; the focus was visible at each of ${keys.stops} stops`,
    counted: { reached: flows.length, needed: neededFlows },
  });
});

const button = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
/** `BODY` when no element has the focus. */
const focused = (): Promise<string | undefined> => page.evaluate(() => document.activeElement?.tagName);

test("by keyboard: send a message, and stop the response with Escape", async () => {
  await page.route("**/api/chat", () => undefined);
  await keys.tabTo(page.getByLabel("Message", { exact: true }));
  await page.keyboard.type("one line");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("and another");
  await page.keyboard.press("Enter");
  await page.getByText("Waiting for the first token").waitFor();
  expect(await page.locator(".prompt-text").textContent()).toBe("one line\nand another");
  await page.getByLabel("Message", { exact: true }).focus();
  await page.keyboard.press("Escape");
  await page.getByText("Stopped.", { exact: true }).waitFor();
  flows.push("send and stop");
});

test("by keyboard: regenerate, with one announcement at the end, and edit", async () => {
  await page.unroute("**/api/chat");
  await mockChatResponse(page, { text: "A complete response." });
  await keys.press(button("Regenerate"));
  await page.getByText("Response complete: A complete response.").waitFor({ state: "attached" });
  expect(
    await page.locator(".response [aria-live], .transcript[aria-live], .transcript [role=log]").count(),
  ).toBe(0);
  await keys.press(button("Edit message"));
  await page.keyboard.press("Control+A");
  await page.keyboard.type("with different words");
  await keys.press(button("Resend"));
  await page.getByText("with different words").first().waitFor();
  flows.push("regenerate", "edit");
});

test("by keyboard: parameters open, close with Escape and restore the focus", async () => {
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

test("by keyboard: single keys switch sections, and ? lists them", async () => {
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
  flows.push("sections by single keys");
});

test("by keyboard: deleting a model, first canceled, then confirmed", async () => {
  await page.getByLabel("Message", { exact: true }).press("Shift+Tab");
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

test("by keyboard: usage by period and model, its order, its tables and its file", async () => {
  await mockUsage(page, { rowsOf: ordinaryRows });
  await keys.tabTo(page.getByRole("link", { name: "Hearth" }));
  await page.keyboard.press("4");
  await page.getByRole("heading", { name: "Usage", exact: true }).waitFor();
  await keys.press(button("24 hours"));
  await page.getByRole("img", { name: /^Tokens per hour/u }).waitFor();
  await keys.press(button("Model"));
  await page.getByRole("img", { name: /^Tokens per model/u }).waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), keys.press(button("Download CSV"))]);
  expect(download.suggestedFilename()).toMatch(/\.csv$/u);
  await keys.press(page.getByText("Tokens per hour as a table"));
  await page.getByRole("region", { name: "Tokens per hour" }).waitFor();
  await keys.press(button("Failed"));
  expect(await page.getByRole("columnheader", { name: "Failed" }).getAttribute("aria-sort")).toBe(
    "descending",
  );
  await page.setViewportSize({ width: 390, height: 800 });
  const table = page.getByRole("region", { name: "Usage by model" });
  await page.getByRole("heading", { name: "Usage", exact: true }).click();
  await keys.tabTo(table);
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => table.evaluate(({ scrollLeft }) => scrollLeft)).toBeGreaterThan(0);
  flows.push("usage");
});
