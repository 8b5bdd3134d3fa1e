import { readFileSync } from "node:fs";
import { recordFigure } from "@hearth-and-keep/figures";
import { appear, type Watched, watchPage } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleStage, startConsoleStage } from "./console-fixture.ts";
import { makeVault } from "./every-screen/scene.ts";
import { signInByHand } from "./sign-in-by-hand.ts";

// Two hundred lines of JSON beside this file.
const strings = JSON.parse(
  readFileSync(new URL("./fixtures/hostile-strings.json", import.meta.url), "utf8"),
) as readonly string[];
const manyMinutes = { timeout: 900_000 };

let stage: ConsoleStage;
let page: Page;
let watched: Watched;
/** By field: how many were shown as typed, and how many Keep refused. */
const shown = new Map<string, number>();
const refused = new Map<string, number>();
/** How Keep answered when it refused one. */
const refusals = new Set<number>();

beforeAll(async () => {
  stage = await startConsoleStage();
  page = await stage.signIn();
  page.setDefaultTimeout(20_000);
  watched = await watchPage(page, { origin: stage.url, allowsRefusals: () => true });
  await page.goto(`${stage.url}/secrets`);
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

const count = (field: string, into = shown): void => void into.set(field, (into.get(field) ?? 0) + 1);

/** As a link would, without loading the page anew. */
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

type Tried = { readonly status: number; readonly id?: string };

/** Whether it was taken, and what it is now. */
async function tryTo(path: string, method: string, body?: object): Promise<Tried> {
  return page.evaluate(
    async ([to, how, text]) => {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(to, { method: how, ...(text === "" ? {} : { headers, body: text }) });
      const found = answer.ok && answer.status !== 204 ? await answer.json() : {};
      const id: unknown = found.id ?? found.results?.[0]?.secret.id;
      return { status: answer.status, ...(typeof id === "string" ? { id } : {}) };
    },
    [path, method, body === undefined ? "" : JSON.stringify(body)] as const,
  );
}

/** By a batch, whose paths are no part of an address. */
function put(vault: string, path: string, rest: object): Promise<Tried> {
  const operations = [{ op: "put", path, ...rest }];
  return tryTo(`/api/secrets/vaults/${vault}/batch`, "POST", { operations });
}

test("there are 200 different ones", () => {
  expect(new Set(strings).size).toBe(200);
});

test("names, folders, tags, notes and values of secrets are shown as typed", manyMinutes, async () => {
  const vault = await makeVault(stage, page, "Strings");
  await page.goto(`${stage.url}/secrets/${vault}`);
  const refusedNames: string[] = [];
  for (const [place, text] of strings.entries()) {
    const tags = (await isTag(vault, text, place)) ? [text] : [];
    if (tags.length === 0) count("tag", refused);
    const rest = { value: text, note: text, tags };
    const inFolder = await put(vault, `/f${place}/${text}/KEY`, rest);
    const named = await put(vault, `/n${place}/${text}`, rest);
    if (named.id !== undefined)
      await expectSecret({ vault, id: named.id, text, path: `/n${place}/${text}`, tags, field: "name" });
    else {
      refusals.add(named.status);
      refusedNames.push(text);
      count("name", refused);
      const { id = "" } = await put(vault, `/plain${place}`, rest);
      await expectSecret({ vault, id, text, path: `/plain${place}`, tags, field: "plain name" });
    }
    if (inFolder.id !== undefined) await expectFolder(vault, `/f${place}/${text}`);
    else count("folder", refused);
    expect(watched.takeTroubles(), text).toEqual([]);
  }
  await expectRefusalsShown(vault, refusedNames);
  expect([...refusals]).toEqual([422]);
});

type Expected = {
  readonly vault: string;
  readonly id: string;
  readonly text: string;
  readonly path: string;
  readonly tags: readonly string[];
  /** What its name is counted as. */
  readonly field: "name" | "plain name";
};

async function expectSecret({ vault, id, text, path, tags: [tag], field }: Expected): Promise<void> {
  const narrowed = tag === undefined ? "" : `&tag=${encodeURIComponent(tag)}`;
  await goTo(`/secrets/${vault}?secret=${id}${narrowed}`);
  await expectText(field, ".side-panel-head h2", path.split("/").at(-1) ?? "");
  await expectText("path", ".side-panel .facts dd.fixed", path);
  if (tag !== undefined) {
    await expectText("tag", ".side-panel .facts .badge", tag);
    await expectText("path in the list", ".list-name a", path);
    await expectText("tag in the list", ".list-tags .badge", tag);
  }
  await page.getByRole("button", { name: "Reveal" }).first().dispatchEvent("click");
  await expectText("value", ".side-panel pre.value", text);
  await expectText("note", ".side-panel .note p", text);
}

async function expectFolder(vault: string, folder: string): Promise<void> {
  await goTo(`/secrets/${vault}?folder=${encodeURIComponent(folder)}`);
  await expectText("folder", '[aria-current="page"].breaks', folder.split("/").at(-1) ?? "");
}

/** The form sends what the API refuses; what comes back stands there as text, and the form stays. */
async function expectRefusalsShown(vault: string, texts: readonly string[]): Promise<void> {
  await goTo(`/secrets/${vault}`);
  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByRole("textbox", { name: "Value" }).fill("any");
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  for (const text of texts) {
    // What an input drops by itself never reaches Keep.
    await name.fill(text);
    const typed = (await name.inputValue()).trim();
    if (!/[\p{Cc}]/u.test(typed)) continue;
    const answer = page.waitForResponse((response) => response.request().method() === "PUT");
    await page.getByRole("button", { name: "Save" }).click();
    expect((await answer).status()).toBe(422);
    await page.getByRole("alert").getByText("not valid").waitFor();
    count("refusal shown");
  }
  await page.keyboard.press("Escape");
  expect(watched.takeTroubles()).toEqual([]);
}

async function isTag(vault: string, text: string, place: number): Promise<boolean> {
  const { id, status } = await put(vault, `/tagged${place}`, { value: "x", tags: [text] });
  if (id === undefined) refusals.add(status);
  return id !== undefined;
}

test(
  "names of vaults and tokens are shown as typed, in their lists and in the log",
  manyMinutes,
  async () => {
    for (const half of [strings.slice(0, 95), strings.slice(95, 190), strings.slice(190)]) {
      const tokens = await makeAll("token", half, { scopes: ["vaults:read"] });
      const vaults = await makeAll("vault", half, {});
      await page.goto(`${stage.url}/secrets/tokens`);
      await page.getByRole("listitem").first().waitFor();
      await expectAll("token name", ".token-name strong", [...tokens.keys()]);
      await page.goto(`${stage.url}/secrets/${[...vaults.values()][0]}`);
      await page.getByRole("button", { name: /^Vault / }).click();
      await expectAll("vault name", ".menu .item .one-line", [...vaults.keys()]);
      for (const id of tokens.values()) await tryTo(`/api/secrets/tokens/${id}`, "DELETE");
      for (const id of vaults.values()) await tryTo(`/api/secrets/vaults/${id}?purge=true`, "DELETE");
    }
    await page.goto(`${stage.url}/audit?vault=account`);
    for (let pages = 0; pages < 8; pages += 1) {
      await page.getByRole("button", { name: "Load more" }).click();
      await page.getByRole("button", { name: "Load more", exact: true }).waitFor();
    }
    const sentences = (await page.locator(".event p").allTextContents()).join("\n");
    for (const text of strings) if (sentences.includes(`the token “${text}”`)) count("token name in the log");
    expect(watched.takeTroubles()).toEqual([]);
  },
);

async function makeAll(
  thing: "token" | "vault",
  texts: readonly string[],
  rest: object,
): Promise<Map<string, string>> {
  const made = new Map<string, string>();
  for (const name of texts) {
    const { id, status } = await tryTo(`/api/secrets/${thing}s`, "POST", { name, ...rest });
    if (id !== undefined) made.set(name, id);
    else {
      refusals.add(status);
      count(`${thing} name`, refused);
    }
  }
  return made;
}

async function expectAll(field: string, selector: string, texts: readonly string[]): Promise<void> {
  await expect
    .poll(() => page.locator(selector).allTextContents(), { timeout: 20_000 })
    .toEqual(expect.arrayContaining([...texts]));
  shown.set(field, (shown.get(field) ?? 0) + texts.length);
}

test("what a provider says of a person is shown as it says", manyMinutes, async () => {
  for (const [place, text] of strings.entries()) {
    const entry = `person-${place}@example.com`;
    const emails = [text, entry].map((email, at) => ({
      email,
      primary: at === 0,
      verified: true,
      visibility: null,
    }));
    stage.codeHosting.putAccount({ id: 9000 + place, login: text, name: text, emails });
    const cookie = await signInByHand(stage, entry);
    await page.context().clearCookies();
    await page.context().addCookies([{ ...cookie, url: stage.url }]);
    await page.goto(`${stage.url}/account`);
    await appear(page.locator(".account-row-words").first());
    const line = shownLine(text);
    if (line !== text) count("provider field", refused);
    const number = String(9000 + place);
    await expectText("display name", ".person", line === "" ? number : line.slice(0, 200));
    const row = line === "" ? number : `${line} · ${line}`;
    await expectText("login and e-mail", ".account-row-words > span.breaks", row);
    expect(watched.takeTroubles(), text).toEqual([]);
  }
});

/** Keep stores what a provider says as one line without control characters. */
function shownLine(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, " ").trim();
}

test("all of them were looked for in every field", () => {
  const needed = strings.length;
  for (const field of ["name", "folder", "tag"])
    expect((shown.get(field) ?? 0) + (refused.get(field) ?? 0), field).toBe(needed);
  for (const field of ["token name", "vault name"])
    expect((shown.get(field) ?? 0) + (refused.get(field) ?? 0), field).toBe(needed);
  for (const field of ["note", "value", "display name", "login and e-mail"])
    expect(shown.get(field), field).toBe(needed);
  expect([...refusals]).toEqual([422]);
  const looks = [...shown.values()].reduce((sum, each) => sum + each, 0);
  const fields = [...shown].map(([field, each]) => `${field} ${each}`).join(", ");
  const denied = [...refused].map(([field, each]) => `${field} ${each}`).join(", ");
  recordFigure({
    claim: "console 4",
    text: `${needed} hostile strings shown as typed and inert, ${looks} looks (${fields}); refused or made one line by Keep: ${denied}; no dialog, no breach of the policy, no request to another origin`,
    counted: { reached: needed, needed: 200 },
  });
});
