import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { childEnvironment, screenshotFolder } from "../config.ts";
import { findProgram } from "../find-program.ts";
import { type LoopbackServer, serveOnLoopback } from "../loopback-server.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { startBrowser, type TestBrowser } from "./start-browser.ts";
import { takeScreenshot } from "./take-screenshot.ts";

let site: LoopbackServer;
let browser: TestBrowser;

beforeAll(async () => {
  site = await serveOnLoopback((request, response) => {
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.setHeader("set-cookie", "visited=yes");
    response.end(pageFor(request.headers.cookie ?? "no cookie"));
  });
  browser = await startBrowser();
});

afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

test("a button on a page can be clicked and its effect read", async () => {
  const page = await browser.openPage(site.origin);
  expect(await page.locator("#greeting").textContent()).toBe("Not yet");

  await page.getByRole("button", { name: "Say hello" }).click();

  expect(await page.locator("#greeting").textContent()).toBe("Hello");
  await takeScreenshot(page, "browser-test-page");
});

test("every page has a new context, and pages of one context share cookies", async () => {
  const first = await browser.openPage(site.origin);
  const again = await first.context().newPage();
  await again.goto(site.origin);
  const other = await browser.openPage(site.origin);

  expect(await again.locator("#cookie").textContent()).toBe("visited=yes");
  expect(await other.locator("#cookie").textContent()).toBe("no cookie");
});

test("a screenshot is a PNG with the width of the viewport", async () => {
  await using folder = await makeTemporaryFolder("screenshots");
  const page = await browser.openPage(site.origin, { viewport: { width: 500, height: 300 } });

  const path = await takeScreenshot(page, "small-window", join(folder.path, "screens"));

  expect(path).toBe(join(folder.path, "screens", "small-window.png"));
  const image = await readFile(path ?? "");
  expect(image.subarray(1, 4).toString()).toBe("PNG");
  expect(image.readUInt32BE(16)).toBe(500);
});

// A run that saves screenshots would save this one too.
test.skipIf(screenshotFolder !== undefined)("no screenshot is saved when no folder is set", async () => {
  const page = await browser.openPage(site.origin);

  expect(await takeScreenshot(page, "unsaved")).toBeUndefined();
});

test("a screenshot's name cannot escape its folder", async () => {
  await using folder = await makeTemporaryFolder("screenshots");
  const page = await browser.openPage(site.origin);

  await expect(takeScreenshot(page, "../outside", folder.path)).rejects.toThrow('"../outside" is not a name');
  expect(await readdir(folder.path)).toEqual([]);
});

test("a closed browser leaves no process and no folder", async () => {
  await using folder = await makeTemporaryFolder("traces");
  const program = `{
    await using browser = await startBrowser();
    await browser.openPage("${site.origin}");
    print(readdirSync(tmpdir()).length);
  }`;

  expect(await runIn(folder.path, program)).toBe("1");

  await expect.poll(() => processesMentioning(folder.path)).toHaveLength(0);
  expect(await readdir(folder.path)).toEqual([]);
});

test("a browser that cannot start leaves no process and no folder", async () => {
  await using folder = await makeTemporaryFolder("traces");
  // Chromium only prints its version and exits.
  const program = `await startBrowser({ arguments: ["--version"] }).catch((error) => print(error));`;

  expect(await runIn(folder.path, program)).toContain("browser has been closed");

  expect(await processesMentioning(folder.path)).toHaveLength(0);
  expect(await readdir(folder.path)).toEqual([]);
});

test("the error for a missing program names its Debian package", async () => {
  const shell = { names: ["sh"], knownPaths: ["/nowhere/sh"], debianPackage: "dash" };
  expect(await findProgram(shell)).toMatch(/\/sh$/);

  const missing = { names: ["no-such-browser"], knownPaths: [], debianPackage: "chromium" };
  await expect(findProgram(missing)).rejects.toThrow(
    'Cannot find the program "no-such-browser": install the Debian package "chromium"',
  );
});

function pageFor(cookie: string): string {
  return `<!doctype html><title>Test page</title><h1>A page for a test</h1>
    <p id="cookie">${cookie}</p><p id="greeting">Not yet</p>
    <button onclick="document.querySelector('#greeting').textContent = 'Hello'">Say hello</button>`;
}

/** Runs a program in a process with this temporary folder, so that nothing else writes there. */
async function runIn(folder: string, program: string): Promise<string> {
  const lines = `
    import { readdirSync } from "node:fs";
    import { tmpdir } from "node:os";
    import { startBrowser } from "${import.meta.resolve("./start-browser.ts")}";
    const print = (value) => process.stdout.write(String(value));
    ${program}`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", lines], {
    env: { ...childEnvironment(), TMPDIR: folder },
  });
  return stdout;
}

async function processesMentioning(folder: string): Promise<string[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(
    ids.map((id) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "")),
  );
  return commands.filter((command) => command.includes(folder));
}
