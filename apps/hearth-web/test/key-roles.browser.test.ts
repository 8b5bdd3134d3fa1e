import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { abortRequests, mockJson, stallRequests } from "./every-screen/screen-state.ts";
import { mockChatResponse, sendPrompt } from "./mock-chat-response.ts";
import { mockUsage, ordinaryRows } from "./mock-usage.ts";
import { startWebUi, type WebUiFixture } from "./web-ui-fixture.ts";

const keys = { admin: "canary-admin-key", inference: "canary-inference-key" } as const;
type Role = keyof typeof keys;

type Screen = {
  readonly name: string;
  readonly path: string;
  readonly prepare?: (page: Page) => Promise<void>;
  readonly act?: (page: Page) => Promise<void>;
  /** Names of form controls and charts that only an admin key shows. */
  readonly forAdmins: readonly (string | RegExp)[];
  /** Names of controls that every key shows. */
  readonly forAll: readonly (string | RegExp)[];
  /** What a key for inference reads instead. */
  readonly forInference: readonly string[];
};

const withoutModels = (page: Page): Promise<void> => mockJson(page, "**/api/tags", { models: [] });
const pullForm = ["Pull a model", "Pull", "Plain HTTP (for private registries)"];

const screens: readonly Screen[] = [
  {
    name: "Models",
    path: "/models",
    forAdmins: [...pullForm, "Delete tiny:latest"],
    forAll: ["Chat with tiny:latest", "Details of tiny:latest"],
    forInference: ["Pulling and deleting models requires an admin key."],
  },
  {
    name: "Models, empty",
    path: "/models",
    prepare: withoutModels,
    forAdmins: [...pullForm, /^Pull smollm2/u],
    forAll: [],
    forInference: ["Ask whoever runs this server to pull one."],
  },
  {
    name: "Chat",
    path: "",
    forAdmins: [],
    forAll: ["Model", "Parameters", "Message", "Send"],
    forInference: [],
  },
  {
    name: "Chat, without models",
    path: "",
    prepare: withoutModels,
    forAdmins: [...pullForm, /^Pull smollm2/u],
    forAll: [],
    forInference: ["It has no chat model yet. Pulling one requires an admin key."],
  },
  {
    name: "Chat, with a missing model",
    path: "",
    prepare: (page) => {
      const body = { error: 'model "gone" not found', code: "model-not-found", model: "gone" } as const;
      return mockChatResponse(page, { error: { status: 404, body } });
    },
    act: (page) => sendPrompt(page, "Hello"),
    forAdmins: ["Pull gone"],
    forAll: ["Regenerate"],
    forInference: ["Choose another model above. Pulling this one requires an admin key."],
  },
  {
    name: "Live",
    path: "/live",
    forAdmins: [/^Tokens per second/u, /^Requests(?! per)/u, /^Model memory/u, /^Requests per second/u],
    forAll: ["Loaded models"],
    forInference: ["Charts and request counts require an admin key."],
  },
  {
    name: "Usage",
    path: "/usage",
    prepare: (page) => mockUsage(page, { rowsOf: ordinaryRows }),
    forAdmins: [/^Tokens per key/u, "Usage by key"],
    forAll: [/^Tokens per day/u, "7 days", "Download CSV"],
    forInference: ["This is the usage of your API key. That of all keys requires an admin key."],
  },
  {
    name: "Connect",
    path: "/connect",
    forAdmins: [],
    forAll: ["Model", "API key", "Anthropic for Python"],
    forInference: [],
  },
];

let fixture: WebUiFixture;
const checked: string[] = [];

beforeAll(async () => {
  fixture = await startWebUi({
    models: { tiny: "tiny-llama.gguf" },
    key: keys.admin,
    inferenceKey: keys.inference,
  });
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 4",
    text: `each key sees the controls that it may use, and none that fail: ${checked.join(", ")}`,
    counted: { reached: checked.length, needed: screens.length * 2 },
  });
});

/** Also finds controls that this file does not list. Chats belong to the browser, so any key deletes them. */
const adminAction = /^(?:pull|push|resume|create|copy model|unload|delete (?!chat|all))/iu;
const controlRoles = ["button", "textbox", "combobox", "checkbox", "img", "region"] as const;

/** How many controls of the main landmark have this name; decorative icons have none. */
async function countControls(page: Page, name: string | RegExp): Promise<number> {
  const main = page.getByRole("main");
  const counts = controlRoles.map((role) => main.getByRole(role, { name, exact: true }).count());
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

/** What must be absent is counted last, when the rest of the screen has loaded. */
async function checkScreen(page: Page, role: Role, screen: Screen): Promise<void> {
  const controls = (names: Screen["forAdmins"]) =>
    names.map((name) => ({ what: String(name), count: () => countControls(page, name) }));
  const sentences = screen.forInference.map((text) => ({
    what: text,
    count: () => page.getByText(text).count(),
  }));
  const isAdmin = role === "admin";
  const shown = isAdmin ? controls(screen.forAdmins) : sentences;
  const hidden = isAdmin ? sentences : controls([...screen.forAdmins, adminAction]);
  for (const { what, count } of [...controls(screen.forAll), ...shown]) {
    await expect.poll(count, { message: what }).toBe(1);
  }
  for (const { what, count } of hidden) expect(await count(), what).toBe(0);
}

async function openAs(role: Role, path = ""): Promise<Page> {
  return fixture.open(path, { httpCredentials: { username: "anybody", password: keys[role] } });
}

test.each(["/models", "/live", "/usage", "/connect"])(
  "%s works if it is the first page that asks for the key",
  async (path) => {
    const page = await openAs("admin", path);
    await expect.poll(() => page.getByText("Unauthorized").count()).toBe(0);
    await page.getByRole("link", { name: "Models" }).first().click();
    await expect.poll(() => countControls(page, "Delete tiny:latest")).toBe(1);
    await page.context().close();
  },
);

test.each(
  screens.flatMap((screen) => [
    { name: screen.name, role: "inference", screen } as const,
    { name: screen.name, role: "admin", screen } as const,
  ]),
)(
  "$name: with a key for $role, the page shows what this key may do and nothing else",
  async ({ role, screen }) => {
    const page = await openAs(role);
    const rejected: string[] = [];
    page.on("response", (response) => {
      if (response.status() === 403) rejected.push(response.url());
    });
    await screen.prepare?.(page);
    await page.goto(`${fixture.url}/ui${screen.path}`);
    await screen.act?.(page);
    await checkScreen(page, role, screen);
    expect(rejected).toEqual([]);
    await page.context().close();
    checked.push(`${screen.name} (${role})`);
  },
);

test("a page that cannot learn the role of its key shows everything, and the server decides", async () => {
  const page = await openAs("admin");
  await abortRequests(page, "**/api/status");
  await page.goto(`${fixture.url}/ui/models`);
  await expect.poll(() => countControls(page, "Delete tiny:latest")).toBe(1);
  expect(await countControls(page, "Pull a model")).toBe(1);
  await page.context().close();
});

test("until the role of the key is known, nothing that needs an admin key is shown", async () => {
  const page = await openAs("admin");
  await stallRequests(page, "**/api/status");
  await page.goto(`${fixture.url}/ui/models`);
  await expect.poll(() => countControls(page, "Details of tiny:latest")).toBe(1);
  expect(await countControls(page, adminAction)).toBe(0);
  expect(await page.getByText("requires an admin key").count()).toBe(0);
  await page.context().close();
});
