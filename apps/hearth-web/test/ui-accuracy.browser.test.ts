import { recordFigure } from "@hearth-and-keep/figures";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mockChatResponse, sendPrompt } from "./mock-chat-response.ts";
import { startWebUi, type WebUiFixture } from "./web-ui-fixture.ts";

const checked: string[] = [];
const neededChecks = 4;
let fixture: WebUiFixture;
let page: Page;

beforeAll(async () => {
  // One file under two names, like a copied model: it is on the disk once.
  fixture = await startWebUi({ models: { tiny: "tiny-llama.gguf", twin: "tiny-llama.gguf" } });
  page = await fixture.open();
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 4",
    text: `accurate content: ${checked.join(", ")}`,
    counted: { reached: checked.length, needed: neededChecks },
  });
});

const button = (name: string): Locator => page.getByRole("button", { name, exact: true });

test("character references are decoded in text and not in code, struck text is struck, and each task has one checkbox", async () => {
  const text = [
    "A&nbsp;B &amp; C &copy; &#8364; &lt;b&gt; &nothing; `a &amp; b` ~~gone~~ safe &#8238;txt",
    "```html\n<p>&amp;</p>\n```",
    "- [x] done\n- [ ] to do",
    "[shop](https://shop.example/?a=1&amp;b=2) [bad](javascript&#58;alert(1))",
  ].join("\n\n");
  await mockChatResponse(page, { text });
  await sendPrompt(page, "Show Markdown");
  await button("Regenerate").waitFor();
  const response = page.locator(".response .markdown");
  expect(await response.locator("p").first().textContent()).toBe(
    "A\u00A0B & C © € <b> &nothing; a &amp; b gone safe ⟦U+202E⟧txt",
  );
  expect(await response.locator("p code").textContent()).toBe("a &amp; b");
  expect(await response.locator("pre").textContent()).toBe("<p>&amp;</p>");
  const struck = response.locator("del");
  expect(await struck.evaluate((element) => getComputedStyle(element).textDecorationLine)).toBe(
    "line-through",
  );
  expect(await response.locator("li").allTextContents()).toEqual(["☑ done", "☐ to do"]);
  expect(
    await response
      .locator("li")
      .first()
      .evaluate((item) => getComputedStyle(item).listStyleType),
  ).toBe("none");
  expect(
    await response.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href"))),
  ).toEqual(["https://shop.example/?a=1&b=2"]);
  await page.unroute("**/api/chat");
  checked.push("rendered Markdown");
});

test("the model list shows a count and no total size, since models share layers on the disk", async () => {
  await page.goto(`${fixture.url}/ui/models`);
  await page.getByText("2 models", { exact: true }).waitFor();
  const sizes = await page.locator(".model-summary p").allTextContents();
  expect(sizes).toHaveLength(2);
  expect(sizes.every((text) => /^[\d.]+ [kMG]B/u.test(text))).toBe(true);
  checked.push("no shared size counted twice");
});

test("on a server with keys, the Ollama command line is replaced by hearth, because it cannot send a key", async () => {
  const snippet = page.locator("figure.code pre").last();
  await page.goto(`${fixture.url}/ui/connect`);
  await button("Ollama command line").click();
  await expect.poll(() => snippet.textContent()).toContain("ollama run");
  await page.route("**/api/version", (route) => route.fulfill({ status: 401, body: "{}" }));
  await page.goto(`${fixture.url}/ui/connect`);
  await page.getByText("This server requires an API key").waitFor();
  await button("Ollama command line").click();
  await page.getByText("The ollama command cannot send an API key").waitFor();
  await expect.poll(() => snippet.textContent()).toMatch(/HEARTH_API_KEY[^]*hearth run/u);
  expect(await snippet.textContent()).not.toContain("ollama");
  checked.push("clients that cannot send a key");
});

test("an agent's settings are a command of hearth, the complete file and the commands to do it by hand", async () => {
  await page.unroute("**/api/version");
  await page.goto(`${fixture.url}/ui/connect`);
  await button("Continue").click();
  const blocks = page.locator("figure.code pre");
  await expect.poll(() => blocks.count()).toBe(3);
  const [launch, file, shell] = await blocks.allTextContents();
  expect(launch).toMatch(/^HEARTH_HOST=http:\S+ hearth launch continue --model \S+$/u);
  expect(file).toMatch(/^# .*\nname: Hearth\nversion: 1\.0\.0\nschema: v1\nmodels:\n/u);
  expect(shell).toMatch(/^export HEARTH_API_KEY=hearth\ncn --config ~\/\.continue\/hearth\.yaml$/u);
  await page.getByText("~/.continue/hearth.yaml", { exact: true }).waitFor();
  checked.push("the complete Continue config");
});
