import { readFileSync } from "node:fs";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { appear, type Watched, watchPage } from "@hearth-and-keep/test-servers";
import type { Problem } from "@hearth-and-keep/vault-contract";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";
import { createVault } from "./every-screen/screen-fixture.ts";
import { signInWithoutBrowser } from "./sign-in-without-browser.ts";

// The fixture is an array of 200 strings.
const allStrings = JSON.parse(
  readFileSync(new URL("./fixtures/hostile-strings.json", import.meta.url), "utf8"),
) as readonly string[];
const stride = chooseSize({ ci: 10, show: 1, nightly: 1 });
const strings = allStrings.filter((_, index) => index % stride === 0);
const longTimeout = { timeout: 900_000 };

let fixture: ConsoleFixture;
let page: Page;
let watched: Watched;
/** Per field: how many strings were shown as typed, and how many Keep rejected. */
const shown = new Map<string, number>();
const rejected = new Map<string, number>();
/** Status codes of the rejections. */
const rejectionStatuses = new Set<number>();

beforeAll(async () => {
  fixture = await startConsoleFixture();
  page = await fixture.signIn();
  page.setDefaultTimeout(20_000);
  watched = await watchPage(page, { origin: fixture.url, allowsRefusals: () => true });
  await page.goto(`${fixture.url}/secrets`);
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});

const count = (field: string, into = shown): void => void into.set(field, (into.get(field) ?? 0) + 1);

/** Navigates like a link, without a page load. */
async function goTo(address: string): Promise<void> {
  await page.evaluate((to) => {
    window.history.pushState(null, "", to);
    window.dispatchEvent(new PopStateEvent("popstate"));
  }, address);
}

async function expectText(field: string, selector: string, text: string): Promise<void> {
  const find = page.locator(selector);
  await expect.poll(() => find.allTextContents(), { timeout: 20_000 }).toContain(text);
  count(field);
}

type Attempt = { readonly status: number; readonly id?: string };

/** The status, and the id of what was created. */
async function attempt(path: string, method: string, body?: object): Promise<Attempt> {
  return page.evaluate(
    async ([to, how, text]) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(to, { method: how, ...(text === "" ? {} : { headers, body: text }) });
      const found = response.ok && response.status !== 204 ? await response.json() : {};
      const id: unknown = found.id ?? found.results?.[0]?.secret.id;
      return { status: response.status, ...(typeof id === "string" ? { id } : {}) };
    },
    [path, method, body === undefined ? "" : JSON.stringify(body)] as const,
  );
}

/** Through a batch request, where paths are not part of the URL. */
function put(vault: string, path: string, rest: object): Promise<Attempt> {
  const operations = [{ op: "put", path, ...rest }];
  return attempt(`/api/secrets/vaults/${vault}/batch`, "POST", { operations });
}

test("there are 200 distinct strings", () => {
  expect(new Set(allStrings).size).toBe(200);
});

test(
  "tags, notes and values of secrets are shown as typed, names and folders composed",
  longTimeout,
  async () => {
    const vault = await createVault(fixture, page, "Strings");
    await page.goto(`${fixture.url}/secrets/${vault}`);
    const rejectedNames: string[] = [];
    for (const [index, text] of strings.entries()) {
      const tags = (await isTag(vault, text, index)) ? [text] : [];
      if (tags.length === 0) count("tag", rejected);
      const rest = { value: text, note: text, tags };
      const inFolder = await put(vault, `/f${index}/${text}/KEY`, rest);
      const named = await put(vault, `/n${index}/${text}`, rest);
      if (named.id !== undefined)
        await expectSecret({ vault, id: named.id, text, path: `/n${index}/${text}`, tags, field: "name" });
      else {
        rejectionStatuses.add(named.status);
        rejectedNames.push(text);
        count("name", rejected);
        const { id = "" } = await put(vault, `/plain${index}`, rest);
        await expectSecret({ vault, id, text, path: `/plain${index}`, tags, field: "plain name" });
      }
      if (inFolder.id !== undefined) await expectFolder(vault, `/f${index}/${text}`.normalize("NFC"));
      else count("folder", rejected);
      expect(watched.takeProblems(), text).toEqual([]);
    }
    await expectRejectionsShown(vault, rejectedNames);
    expect([...rejectionStatuses]).toEqual([422]);
  },
);

type Expected = {
  readonly vault: string;
  readonly id: string;
  readonly text: string;
  readonly path: string;
  readonly tags: readonly string[];
  /** The field its name counts for. */
  readonly field: "name" | "plain name";
};

async function expectSecret({ vault, id, text, path, tags: [tag], field }: Expected): Promise<void> {
  const narrowed = tag === undefined ? "" : `&tag=${encodeURIComponent(tag)}`;
  await goTo(`/secrets/${vault}?secret=${id}${narrowed}`);
  const composed = path.normalize("NFC");
  await expectText(field, ".side-panel-header h2", composed.split("/").at(-1) ?? "");
  await expectText("path", ".side-panel .properties dd.mono", composed);
  if (tag !== undefined) {
    await expectText("tag", ".side-panel .properties .badge", tag);
    await expectText("path in the list", ".list-name a", composed);
    await expectText("tag in the list", ".list-tags .badge", tag);
  }
  await page.getByRole("button", { name: "Reveal" }).first().dispatchEvent("click");
  await expectText("value", ".side-panel pre.value", text);
  await expectText("note", ".side-panel .note p", text);
}

async function expectFolder(vault: string, folder: string): Promise<void> {
  await goTo(`/secrets/${vault}?folder=${encodeURIComponent(folder)}`);
  await expectText("folder", '[aria-current="page"].break-words', folder.split("/").at(-1) ?? "");
}

/** Submits names that the API rejects; the error is shown as text and the form stays open. */
async function expectRejectionsShown(vault: string, texts: readonly string[]): Promise<void> {
  await goTo(`/secrets/${vault}`);
  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByRole("textbox", { name: "Value" }).fill("any");
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  for (const text of texts) {
    // An input strips some characters, which then never reach Keep.
    await name.fill(text);
    const typed = (await name.inputValue()).trim();
    if (!/[\p{Cc}]/u.test(typed)) continue;
    const response = page.waitForResponse((received) => received.request().method() === "PUT");
    await page.getByRole("button", { name: "Save" }).click();
    // Every failed response is a problem document.
    const { status, code, title } = (await (await response).json()) as Problem;
    expect({ status, code }).toEqual({ status: 422, code: "validation_failed" });
    await page.getByRole("alert").getByText(title).waitFor();
    count("rejection shown");
  }
  await page.keyboard.press("Escape");
  expect(watched.takeProblems()).toEqual([]);
}

async function isTag(vault: string, text: string, index: number): Promise<boolean> {
  const { id, status } = await put(vault, `/tagged${index}`, { value: "x", tags: [text] });
  if (id === undefined) rejectionStatuses.add(status);
  return id !== undefined;
}

test(
  "names of vaults and tokens are shown as typed, in their lists and in the log",
  longTimeout,
  async () => {
    for (const half of [strings.slice(0, 95), strings.slice(95, 190), strings.slice(190)]) {
      if (half.length === 0) break;
      const tokens = await createAll("token", half, { scopes: ["vaults:read"] });
      const vaults = await createAll("vault", half, {});
      await page.goto(`${fixture.url}/secrets/tokens`);
      await page.getByRole("listitem").first().waitFor();
      await expectAll("token name", ".token-name strong", [...tokens.keys()]);
      await page.goto(`${fixture.url}/secrets/${[...vaults.values()][0]}`);
      await page.getByRole("button", { name: /^Vault / }).click();
      await expectAll("vault name", ".menu .item .truncate", [...vaults.keys()]);
      for (const id of tokens.values()) await attempt(`/api/secrets/tokens/${id}`, "DELETE");
      for (const id of vaults.values()) await attempt(`/api/secrets/vaults/${id}?purge=true`, "DELETE");
    }
    await page.goto(`${fixture.url}/audit?vault=account`);
    for (let pages = 0; pages < Math.floor(8 / stride); pages += 1) {
      await page.getByRole("button", { name: "Load more" }).click();
      await page.getByRole("button", { name: "Load more", exact: true }).waitFor();
    }
    const sentences = (await page.locator(".event p").allTextContents()).join("\n");
    for (const text of strings) if (sentences.includes(`the token “${text}”`)) count("token name in the log");
    expect(watched.takeProblems()).toEqual([]);
  },
);

async function createAll(
  thing: "token" | "vault",
  texts: readonly string[],
  rest: object,
): Promise<Map<string, string>> {
  const created = new Map<string, string>();
  for (const name of texts) {
    const { id, status } = await attempt(`/api/secrets/${thing}s`, "POST", { name, ...rest });
    if (id !== undefined) created.set(name, id);
    else {
      rejectionStatuses.add(status);
      count(`${thing} name`, rejected);
    }
  }
  return created;
}

async function expectAll(field: string, selector: string, texts: readonly string[]): Promise<void> {
  await expect
    .poll(() => page.locator(selector).allTextContents(), { timeout: 20_000 })
    .toEqual(expect.arrayContaining([...texts]));
  shown.set(field, (shown.get(field) ?? 0) + texts.length);
}

test("profile fields from a provider are shown as text", longTimeout, async () => {
  for (const [index, text] of strings.entries()) {
    const entry = `person-${index}@example.com`;
    const emails = [text, entry].map((email, at) => ({
      email,
      primary: at === 0,
      verified: true,
      visibility: null,
    }));
    fixture.codeHosting.putAccount({ id: 9000 + index, login: text, name: text, emails });
    const cookie = await signInWithoutBrowser(fixture, entry);
    await page.context().clearCookies();
    await page.context().addCookies([{ ...cookie, url: fixture.url }]);
    await page.goto(`${fixture.url}/account`);
    await appear(page.locator(".account-row-text").first());
    const line = sanitizedLine(text);
    if (line !== text) count("provider field", rejected);
    const number = String(9000 + index);
    await expectText("display name", ".account-name", line === "" ? number : line.slice(0, 200));
    const row = line === "" ? number : `${line} · ${line}`;
    await expectText("login and e-mail", ".account-row-text > span.break-words", row);
    expect(watched.takeProblems(), text).toEqual([]);
  }
});

/** Keep stores profile fields as one line without control characters. */
function sanitizedLine(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, " ").trim();
}

test("every string was checked in every field", () => {
  const needed = strings.length;
  for (const field of ["name", "folder", "tag"])
    expect((shown.get(field) ?? 0) + (rejected.get(field) ?? 0), field).toBe(needed);
  for (const field of ["token name", "vault name"])
    expect((shown.get(field) ?? 0) + (rejected.get(field) ?? 0), field).toBe(needed);
  for (const field of ["note", "value", "display name", "login and e-mail"])
    expect(shown.get(field), field).toBe(needed);
  expect([...rejectionStatuses]).toEqual([422]);
  const checks = [...shown.values()].reduce((sum, each) => sum + each, 0);
  const fields = [...shown].map(([field, each]) => `${field} ${each}`).join(", ");
  const denied = [...rejected].map(([field, each]) => `${field} ${each}`).join(", ");
  recordFigure({
    claim: "console 4",
    text: `${needed} hostile strings shown as typed and inert, ${checks} checks (${fields}); rejected or reduced to one line by Keep: ${denied}; no dialog, no policy violation, no request to another origin`,
    counted: { reached: needed, needed: 200 / stride },
  });
});
