import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startBrowser, type TestBrowser, takeScreenshot } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";
import { exchangeCode, exchangeDevice, newRedirectLogin, startDevice } from "./test/request-login.ts";

let keep: TestKeep;
let browser: TestBrowser;

beforeAll(async () => {
  [keep, browser] = await Promise.all([startUnlimitedKeep({ settings: { dev: "true" } }), startBrowser()]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await keep[Symbol.asyncDispose]();
});

/** The port of a program that waits for its code. */
async function listen() {
  const queries: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    queries.push(new URL(request.url ?? "/", "http://127.0.0.1").searchParams);
    response.end("received");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening TCP server has an address with a port.
  const { port } = server.address() as AddressInfo;
  return {
    port: String(port),
    queries,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function openSignedOut(path: string): Promise<Page> {
  const page = await browser.openPage(keep.url + path, { viewport: { width: 1280, height: 800 } });
  await page.getByRole("button", { name: /^Continue with/u }).click();
  await page.getByRole("button", { name: "Alice" }).click();
  return page;
}

/** In both themes and two widths. */
async function takeScreenshots(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await takeScreenshot(page, `${name}-${colorScheme}-${width}`);
    }
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize({ width: 1280, height: 800 });
}

test("a person signs in, approves a command line, and the browser takes the code to its port", async () => {
  await using program = await listen();
  const login = newRedirectLogin();
  const query = new URLSearchParams({ ...login.query, port: program.port });
  const page = await openSignedOut(`/login/authorize?${query.toString()}`);
  await page.getByRole("heading", { name: "Allow access from the command line?" }).waitFor();
  await takeScreenshots(page, "login-authorize");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("received").waitFor();
  const [received] = program.queries;
  expect(received?.get("state")).toBe(login.query.state);
  const { status } = await exchangeCode(keep, received?.get("code") ?? "", login.verifier);
  expect(status).toBe(200);
});

test("a person enters the code of a terminal, compares it, and approves", async () => {
  const login = await startDevice(keep);
  const page = await openSignedOut("/login/device");
  await takeScreenshots(page, "login-code");
  await page.getByLabel("Code").fill(login.user_code.toLowerCase());
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText(login.user_code).waitFor();
  await takeScreenshots(page, "login-compare");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("heading", { name: "Terminal connected" }).waitFor();
  await takeScreenshots(page, "login-connected");
  expect((await exchangeDevice(keep, login.device_code)).status).toBe(200);
});

test("a page of another site cannot show the page in a frame", async () => {
  const { query } = newRedirectLogin();
  const address = `${keep.url}/login/authorize?${new URLSearchParams(query).toString()}`;
  const page = await openSignedOut(`/login/authorize?${new URLSearchParams(query).toString()}`);
  await page.setContent(`<iframe src="${address.replaceAll("&", "&amp;")}"></iframe>`);
  await page.waitForTimeout(500);
  const frames = await Promise.all(page.frames().map((frame) => frame.getByRole("button").count()));
  expect(frames.every((count) => count === 0)).toBe(true);
});
