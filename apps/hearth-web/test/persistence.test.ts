import { recordFigure } from "@hearth-and-keep/figures";
import { startBrowser, type TestBrowser } from "@hearth-and-keep/test-servers";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { askOn, tellAnswer } from "./mock-chat-response.ts";
import { type PageStage, smol, startPageStage } from "./page-fixture.ts";

const flows: string[] = [];
const neededFlows = 11;
/** An address of no machine; this browser finds the server of this one there, by plain HTTP and not as itself. */
const elsewhere = "192.0.2.77";

let browser: TestBrowser;
let stage: PageStage;
let page: Page;

beforeAll(async () => {
  browser = await startBrowser({ arguments: [`--host-resolver-rules=MAP ${elsewhere} 127.0.0.1`] });
  stage = await startPageStage({ models: smol, browser, allowedHost: elsewhere });
});

beforeEach(async () => {
  await page?.context().close();
  page = await stage.open();
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await browser?.[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 4",
    text: `nothing that a person did is lost: ${flows.join(", ")}`,
    counted: { reached: flows.length, needed: neededFlows },
  });
});

const button = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
const question = (): Locator => page.getByLabel("Your question");
const link = (name: string): Locator => page.getByRole("link", { name, exact: true });

async function limitAnswers(tokens: number): Promise<void> {
  await button(/^Parameters/u).click();
  await page.getByLabel("Longest answer").fill(String(tokens));
  await page.getByLabel("Temperature").fill("0");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

async function beginStory(): Promise<void> {
  // So long that nobody comes too late.
  await limitAnswers(1500);
  await askOn(page, "Write a long story about a dragon and a castle.");
  await page.locator(".answer .markdown").first().waitFor({ timeout: 60_000 });
}

async function countRunning(): Promise<number> {
  const text = await (await fetch(`${stage.url}/metrics`)).text();
  return Number(/^hearth_requests_running (\S+)$/mu.exec(text)?.[1]);
}

test("the page chats and copies at a plain address of another machine, where browsers allow less", async () => {
  await page.goto(`http://${elsewhere}:${new URL(stage.url).port}/ui`);
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  await limitAnswers(12);
  await askOn(page, "Say hello.");
  await button("Regenerate").waitFor({ timeout: 60_000 });
  expect(await page.locator(".answer .markdown").textContent()).not.toBe("");
  flows.push("a chat at another machine's plain address");
  await button("Copy this question").click();
  await page.getByText("Copied").first().waitFor();
  expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe(
    "Copy this question",
  );
  await question().press("Control+V");
  expect(await question().inputValue()).toBe("Say hello.");
  flows.push("copied there");
});

test("a question asked in other words while its answer runs stops that answer and is answered", async () => {
  await beginStory();
  await tellAnswer(page, { text: "A haiku." });
  await button("Edit this question").click();
  await page.getByLabel("The question in other words").fill("Write a haiku instead.");
  await button("Ask anew").click();
  await button("Regenerate").waitFor();
  expect(await page.locator(".said").allTextContents()).toEqual(["Write a haiku instead."]);
  expect(await page.locator(".answer .markdown").allTextContents()).toEqual(["A haiku."]);
  await expect.poll(countRunning, { timeout: 10_000 }).toBe(0);
  flows.push("asked anew in the midst of an answer");
});

test("loading the page anew keeps what came of an answer, and another one can be had", async () => {
  await beginStory();
  await expect
    .poll(async () => (await page.locator(".answer .markdown").textContent())?.length, { timeout: 60_000 })
    .toBeGreaterThan(200);
  const before = (await page.locator(".answer .markdown").textContent()) ?? "";
  await page.reload();
  await page.getByText("The page went away before the answer was whole").waitFor();
  const kept = (await page.locator(".answer .markdown").textContent()) ?? "";
  expect(kept.slice(0, 60)).toBe(before.slice(0, 60));
  expect(kept.length).toBeGreaterThanOrEqual(before.length);
  flows.push("an answer broken off by a reload is kept");
  await tellAnswer(page, { text: "A whole story." });
  await button("Regenerate").click();
  await page.getByText("A whole story.", { exact: true }).waitFor();
  await page.reload();
  await page.getByText("A whole story.", { exact: true }).waitFor();
  expect(await page.locator(".answer").count()).toBe(1);
});

test("what came of an answer is kept while it comes, so that also a tab that dies loses little of it", async () => {
  await beginStory();
  const first = (await page.locator(".answer .markdown").textContent()) ?? "";
  await page.waitForTimeout(1500);
  const address = page.url();
  const session = await page.context().newCDPSession(page);
  const isGone = page.waitForEvent("crash");
  // It has nobody left to answer it.
  void session.send("Page.crash").catch(() => undefined);
  await isGone;
  page = await page.context().newPage();
  await page.goto(address);
  await page.getByText("The page went away before the answer was whole").waitFor({ timeout: 20_000 });
  const kept = (await page.locator(".answer .markdown").textContent()) ?? "";
  expect(kept.startsWith(first.slice(0, 20))).toBe(true);
  expect(kept.length).toBeGreaterThan(first.length);
  flows.push("and by a tab that dies");
});

test("a question that was never answered can be answered after all", async () => {
  await page.route("**/api/chat", () => undefined);
  await askOn(page, "Are you there?");
  await page.getByText("Reading your question").waitFor();
  await page.unroute("**/api/chat");
  await page.reload();
  await page.getByText("This question has no answer").waitFor();
  await tellAnswer(page, { text: "Here I am." });
  await button("Regenerate").click();
  await page.getByText("Here I am.", { exact: true }).waitFor();
  expect(await page.getByText("This question has no answer").count()).toBe(0);
  flows.push("regenerate after an unanswered question");
});

test("deleting a chat stops its answer, and deleting all stops theirs", async () => {
  await beginStory();
  expect(await countRunning()).toBe(1);
  await button(/^Delete the chat Write a long story/u).click();
  await expect.poll(countRunning, { timeout: 5000 }).toBe(0);
  await beginStory();
  await link("New chat").click();
  expect(await countRunning()).toBe(1);
  await button("Clear all").click();
  await button("Delete all").click();
  await expect.poll(countRunning, { timeout: 5000 }).toBe(0);
  await page.reload();
  await page.getByText("What is on your mind?").waitFor();
  expect(await page.locator(".chat-side li").count()).toBe(0);
  flows.push("a deleted chat answers no more");
});

test("in a conversation / leads to its question, and the place Chat leads back to it, with what was being written", async () => {
  await tellAnswer(page, { text: "One." });
  await askOn(page, "First");
  await button("Regenerate").waitFor();
  const address = page.url();
  await page.locator("main").focus();
  await page.keyboard.press("/");
  await expect.poll(() => question().evaluate((field) => field === document.activeElement)).toBe(true);
  expect(page.url()).toBe(address);
  flows.push("/ stays in the conversation");
  await question().fill("Half of a quest");
  await link("Models").click();
  await page.getByRole("heading", { name: "Models", exact: true }).waitFor();
  await link("Chat").click();
  await page.getByText("One.", { exact: true }).waitFor();
  expect(page.url()).toBe(address);
  expect(await question().inputValue()).toBe("Half of a quest");
  flows.push("Chat leads back");
  await link("New chat").click();
  expect(await question().inputValue()).toBe("");
  await question().fill("Another half");
  await link("First").click();
  expect(await question().inputValue()).toBe("Half of a quest");
  await question().press("Shift+Tab");
  await page.keyboard.press("n");
  expect(await question().inputValue()).toBe("Another half");
  await question().press("Enter");
  await button("Regenerate").waitFor();
  await link("New chat").click();
  expect(await question().inputValue()).toBe("");
  flows.push("a draft for each conversation");
});

test("what is set before the first question is there after a look at another place", async () => {
  await button(/^Parameters/u).click();
  await page.getByLabel("Temperature").fill("0.5");
  await page.keyboard.press("Escape");
  await link("Live").click();
  await page.getByRole("heading", { name: "Live", exact: true }).waitFor();
  await link("Chat").click();
  await page.getByText("1 set").waitFor();
  await tellAnswer(page, { text: "One." });
  await askOn(page, "First");
  await button("Regenerate").waitFor();
  await page.getByText("1 set").waitFor();
  await link("New chat").click();
  await page.getByText("What is on your mind?").waitFor();
  expect(await page.getByText("1 set").count()).toBe(0);
  flows.push("parameters of a chat not yet begun");
});
