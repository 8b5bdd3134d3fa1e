import { recordFigure } from "@hearth-and-keep/figures";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { askOn, tellAnswer } from "./mock-chat-response.ts";
import { type PageStage, startPageStage } from "./page-fixture.ts";

const truths: string[] = [];
const neededTruths = 4;
let stage: PageStage;
let page: Page;

beforeAll(async () => {
  // One file under two names, as a copy of a model is: the disk has it once.
  stage = await startPageStage({ models: { tiny: "tiny-llama.gguf", twin: "tiny-llama.gguf" } });
  page = await stage.open();
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 4",
    text: `the page says what is so: ${truths.join(", ")}`,
    counted: { reached: truths.length, needed: neededTruths },
  });
});

const button = (name: string): Locator => page.getByRole("button", { name, exact: true });

test("entities are read in text and never in code, what is struck is, and each task has one box", async () => {
  const text = [
    "A&nbsp;B &amp; C &copy; &#8364; &lt;b&gt; &nothing; `a &amp; b` ~~gone~~ safe &#8238;txt",
    "```html\n<p>&amp;</p>\n```",
    "- [x] done\n- [ ] to do",
    "[shop](https://shop.example/?a=1&amp;b=2) [bad](javascript&#58;alert(1))",
  ].join("\n\n");
  await tellAnswer(page, { text });
  await askOn(page, "Show Markdown");
  await button("Regenerate").waitFor();
  const answer = page.locator(".answer .markdown");
  expect(await answer.locator("p").first().textContent()).toBe(
    "A\u00A0B & C © € <b> &nothing; a &amp; b gone safe ⟦U+202E⟧txt",
  );
  expect(await answer.locator("p code").textContent()).toBe("a &amp; b");
  expect(await answer.locator("pre").textContent()).toBe("<p>&amp;</p>");
  const struck = answer.locator("del");
  expect(await struck.evaluate((element) => getComputedStyle(element).textDecorationLine)).toBe(
    "line-through",
  );
  expect(await answer.locator("li").allTextContents()).toEqual(["☑ done", "☐ to do"]);
  expect(
    await answer
      .locator("li")
      .first()
      .evaluate((item) => getComputedStyle(item).listStyleType),
  ).toBe("none");
  expect(
    await answer.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href"))),
  ).toEqual(["https://shop.example/?a=1&b=2"]);
  await page.unroute("**/api/chat");
  truths.push("Markdown as it is meant");
});

test("the list of models counts them and adds up no sizes, since models share parts on the disk", async () => {
  await page.goto(`${stage.url}/ui/models`);
  await page.getByText("2 models", { exact: true }).waitFor();
  const sizes = await page.locator(".model-words p").allTextContents();
  expect(sizes).toHaveLength(2);
  expect(sizes.every((words) => /^[\d.]+ [kMG]B/u.test(words))).toBe(true);
  truths.push("no size is told twice");
});

test("where the server asks for a key, the Ollama command line is told that it cannot send one, and what can", async () => {
  const lines = page.locator("figure.code pre").last();
  await page.goto(`${stage.url}/ui/connect`);
  await button("Ollama command line").click();
  await expect.poll(() => lines.textContent()).toContain("ollama run");
  await page.route("**/api/version", (route) => route.fulfill({ status: 401, body: "{}" }));
  await page.goto(`${stage.url}/ui/connect`);
  await page.getByText("This server asks for a key").waitFor();
  await button("Ollama command line").click();
  await page.getByText("The ollama command cannot send a key").waitFor();
  await expect.poll(() => lines.textContent()).toMatch(/HEARTH_API_KEY[^]*hearth run/u);
  expect(await lines.textContent()).not.toContain("ollama");
  truths.push("who cannot send a key");
});

test("Continue's lines begin with the name, version and schema that it asks for", async () => {
  await button("Continue").click();
  await expect
    .poll(() => page.locator("figure.code pre").last().textContent())
    .toMatch(/^# \S+\nname: Hearth\nversion: 1\.0\.0\nschema: v1\nmodels:\n/u);
  truths.push("Continue's whole file");
});
