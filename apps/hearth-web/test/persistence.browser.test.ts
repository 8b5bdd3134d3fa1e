import { recordFigure } from "@hearth-and-keep/figures";
import { startBrowser, type TestBrowser } from "@hearth-and-keep/test-servers";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { mockChatResponse, sendPrompt } from "./mock-chat-response.ts";
import { smol, startWebUi, type WebUiFixture } from "./web-ui-fixture.ts";

const flows: string[] = [];
const neededFlows = 11;
/** A documentation address that this browser resolves to the local server, as plain HTTP from another machine. */
const remoteHost = "192.0.2.77";

let browser: TestBrowser;
let fixture: WebUiFixture;
let page: Page;

beforeAll(async () => {
  browser = await startBrowser({ arguments: [`--host-resolver-rules=MAP ${remoteHost} 127.0.0.1`] });
  fixture = await startWebUi({ models: smol, browser, allowedHost: remoteHost });
});

beforeEach(async () => {
  await page?.context().close();
  page = await fixture.open();
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await browser?.[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 4",
    text: `nothing the user entered is lost: ${flows.join(", ")}`,
    counted: { reached: flows.length, needed: neededFlows },
  });
});

const button = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
const messageBox = (): Locator => page.getByLabel("Message", { exact: true });
const link = (name: string): Locator => page.getByRole("link", { name, exact: true });

async function limitOutput(tokens: number): Promise<void> {
  await button(/^Parameters/u).click();
  await page.getByLabel("Max output tokens").fill(String(tokens));
  await page.getByLabel("Temperature").fill("0");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

async function startLongResponse(): Promise<void> {
  // Long enough that it is still running when the test acts.
  await limitOutput(1500);
  await sendPrompt(page, "Write a long story about a dragon and a castle.");
  await page.locator(".response .markdown").first().waitFor({ timeout: 60_000 });
}

async function countRunning(): Promise<number> {
  const text = await (await fetch(`${fixture.url}/metrics`)).text();
  return Number(/^hearth_requests_running (\S+)$/mu.exec(text)?.[1]);
}

test("chat and copy work over plain HTTP from another machine, where browsers restrict APIs", async () => {
  await page.goto(`http://${remoteHost}:${new URL(fixture.url).port}/ui`);
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  await limitOutput(12);
  await sendPrompt(page, "Say hello.");
  await button("Regenerate").waitFor({ timeout: 60_000 });
  expect(await page.locator(".response .markdown").textContent()).not.toBe("");
  flows.push("chat over plain HTTP from another machine");
  await button("Copy message").click();
  await page.getByText("Copied").first().waitFor();
  expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Copy message");
  await messageBox().press("Control+V");
  expect(await messageBox().inputValue()).toBe("Say hello.");
  flows.push("copy there");
});

test("editing a message during its response stops that response and gets a new one", async () => {
  await startLongResponse();
  await mockChatResponse(page, { text: "A haiku." });
  await button("Edit message").click();
  await page.getByLabel("Edited message").fill("Write a haiku instead.");
  await button("Resend").click();
  await button("Regenerate").waitFor();
  expect(await page.locator(".prompt-text").allTextContents()).toEqual(["Write a haiku instead."]);
  expect(await page.locator(".response .markdown").allTextContents()).toEqual(["A haiku."]);
  await expect.poll(countRunning, { timeout: 10_000 }).toBe(0);
  flows.push("edited during a response");
});

test("a reload keeps the partial response, which can be regenerated", async () => {
  await startLongResponse();
  await expect
    .poll(async () => (await page.locator(".response .markdown").textContent())?.length, { timeout: 60_000 })
    .toBeGreaterThan(200);
  const before = (await page.locator(".response .markdown").textContent()) ?? "";
  await page.reload();
  await page.getByText("The page was closed before the response was complete").waitFor();
  const kept = (await page.locator(".response .markdown").textContent()) ?? "";
  expect(kept.slice(0, 60)).toBe(before.slice(0, 60));
  expect(kept.length).toBeGreaterThanOrEqual(before.length);
  flows.push("a response interrupted by a reload is kept");
  await mockChatResponse(page, { text: "A complete story." });
  await button("Regenerate").click();
  await page.getByText("A complete story.", { exact: true }).waitFor();
  await page.reload();
  await page.getByText("A complete story.", { exact: true }).waitFor();
  expect(await page.locator(".response").count()).toBe(1);
});

test("partial responses are saved while they stream, so that a crashed tab loses little", async () => {
  await startLongResponse();
  const first = (await page.locator(".response .markdown").textContent()) ?? "";
  await page.waitForTimeout(1500);
  const address = page.url();
  const session = await page.context().newCDPSession(page);
  const crashed = page.waitForEvent("crash");
  // The crashed tab never responds.
  void session.send("Page.crash").catch(() => undefined);
  await crashed;
  page = await page.context().newPage();
  await page.goto(address);
  await page.getByText("The page was closed before the response was complete").waitFor({ timeout: 20_000 });
  const kept = (await page.locator(".response .markdown").textContent()) ?? "";
  expect(kept.startsWith(first.slice(0, 20))).toBe(true);
  expect(kept.length).toBeGreaterThan(first.length);
  flows.push("and by a crashed tab");
});

test("a message without a response can be regenerated", async () => {
  await page.route("**/api/chat", () => undefined);
  await sendPrompt(page, "Are you there?");
  await page.getByText("Waiting for the first token").waitFor();
  await page.unroute("**/api/chat");
  await page.reload();
  await page.getByText("No response yet.").waitFor();
  await mockChatResponse(page, { text: "Here I am." });
  await button("Regenerate").click();
  await page.getByText("Here I am.", { exact: true }).waitFor();
  expect(await page.getByText("No response yet.").count()).toBe(0);
  flows.push("regenerate a missing response");
});

test("deleting a chat, or all chats, stops their responses", async () => {
  await startLongResponse();
  expect(await countRunning()).toBe(1);
  await button(/^Delete chat Write a long story/u).click();
  await expect.poll(countRunning, { timeout: 5000 }).toBe(0);
  await startLongResponse();
  await link("New chat").click();
  expect(await countRunning()).toBe(1);
  await button("Delete all chats").click();
  await button("Delete all").click();
  await expect.poll(countRunning, { timeout: 5000 }).toBe(0);
  await page.reload();
  await page.getByText("What's on your mind?").waitFor();
  expect(await page.locator(".chat-side li").count()).toBe(0);
  flows.push("deleted chats stop responding");
});

test("in a conversation / focuses the message box, and Chat returns to the conversation and its draft", async () => {
  await mockChatResponse(page, { text: "One." });
  await sendPrompt(page, "First");
  await button("Regenerate").waitFor();
  const address = page.url();
  await page.locator("main").focus();
  await page.keyboard.press("/");
  await expect.poll(() => messageBox().evaluate((field) => field === document.activeElement)).toBe(true);
  expect(page.url()).toBe(address);
  flows.push("/ stays in the conversation");
  await messageBox().fill("Half a message");
  await link("Models").click();
  await page.getByRole("heading", { name: "Models", exact: true }).waitFor();
  await link("Chat").click();
  await page.getByText("One.", { exact: true }).waitFor();
  expect(page.url()).toBe(address);
  expect(await messageBox().inputValue()).toBe("Half a message");
  flows.push("Chat returns to the conversation");
  await link("New chat").click();
  expect(await messageBox().inputValue()).toBe("");
  await messageBox().fill("Another draft");
  await link("First").click();
  expect(await messageBox().inputValue()).toBe("Half a message");
  await messageBox().press("Shift+Tab");
  await page.keyboard.press("n");
  expect(await messageBox().inputValue()).toBe("Another draft");
  await messageBox().press("Enter");
  await button("Regenerate").waitFor();
  await link("New chat").click();
  expect(await messageBox().inputValue()).toBe("");
  flows.push("a draft for each conversation");
});

test("parameters set before the first message survive a visit to another section", async () => {
  await button(/^Parameters/u).click();
  await page.getByLabel("Temperature").fill("0.5");
  await page.keyboard.press("Escape");
  await link("Live").click();
  await page.getByRole("heading", { name: "Live", exact: true }).waitFor();
  await link("Chat").click();
  await page.getByText("1 set").waitFor();
  await mockChatResponse(page, { text: "One." });
  await sendPrompt(page, "First");
  await button("Regenerate").waitFor();
  await page.getByText("1 set").waitFor();
  await link("New chat").click();
  await page.getByText("What's on your mind?").waitFor();
  expect(await page.getByText("1 set").count()).toBe(0);
  flows.push("parameters of a new chat");
});
