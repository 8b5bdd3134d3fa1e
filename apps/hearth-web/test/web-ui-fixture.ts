/**
 * @module
 * The web UI for tests: a real Hearth process with llama.cpp on one thread, and a real browser, on free local ports.
 * Models are created through the API.
 * Imported by the tests of the web UI.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  makeTemporaryFolder,
  startBrowser,
  startProcess,
  type TestBrowser,
  type TestModelName,
  testModel,
} from "@hearth-and-keep/test-servers";
import type { BrowserContextOptions, Page } from "playwright-core";

export type WebUiFixture = AsyncDisposable & {
  readonly url: string;
  readonly browser: TestBrowser;
  /** Opens the web UI in a new browser context. */
  open(path?: string, context?: BrowserContextOptions): Promise<Page>;
  /** Hearth's log so far. */
  readonly log: () => string;
};

export type FixtureOptions = {
  /** Model files by model name. */
  readonly models?: Readonly<Record<string, TestModelName>>;
  /** An admin key. */
  readonly key?: string;
  /** A second key, for inference only. */
  readonly inferenceKey?: string;
  /** An additional host name that the server allows. */
  readonly allowedHost?: string;
  /** A browser to reuse, which the caller closes. */
  readonly browser?: TestBrowser;
};

export const smol = { smol: "smollm2-135m-instruct-q4_1.gguf" } as const;

const program = fileURLToPath(new URL("../../hearth/bin/hearth.js", import.meta.url));
const timeoutMilliseconds = 20_000;

export async function startWebUi({
  models = {},
  key,
  inferenceKey,
  allowedHost = "",
  ...options
}: FixtureOptions = {}): Promise<WebUiFixture> {
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await makeTemporaryFolder("hearth-models"));
  const home = stack.use(await makeTemporaryFolder("hearth-home"));
  const hearth = stack.use(
    await startProcess({
      command: process.execPath,
      arguments: [program, "serve", "--host", "127.0.0.1", "--port", "0", "--models", store.path],
      environment: {
        HOME: home.path,
        HEARTH_THREADS: "1",
        HEARTH_CONTEXT_LENGTH: "2048",
        HEARTH_PRIVATE_REGISTRIES: "127.0.0.1",
        HEARTH_ALLOWED_HOSTS: allowedHost,
        ...(key === undefined ? {} : { HEARTH_API_KEY: key }),
        ...(inferenceKey === undefined ? {} : await writeKeysFile(home.path, inferenceKey)),
      },
      isReady: (output) => /listening on \S+/u.test(output),
      readyWithinSeconds: 60,
    }),
  );
  const url = /listening on (\S+)/u.exec(hearth.output())?.[1] ?? "";
  for (const [name, file] of Object.entries(models)) await createModel({ url, key }, name, file);
  const browser = options.browser ?? stack.use(await startBrowser());
  const owned = stack.move();
  return {
    url,
    browser,
    log: () => hearth.output(),
    open: async (path = "", context = {}) => {
      const page = await browser.openPage(`${url}/ui${path}`, context);
      page.setDefaultTimeout(timeoutMilliseconds);
      return page;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function writeKeysFile(folder: string, key: string): Promise<Readonly<Record<string, string>>> {
  const path = join(folder, "keys");
  await writeFile(path, `program:${key}\n`, { mode: 0o600 });
  return { HEARTH_API_KEYS_FILE: path };
}

type Server = { readonly url: string; readonly key: string | undefined };

async function createModel({ url, key }: Server, name: string, file: TestModelName): Promise<void> {
  const path = await testModel(file);
  const bytes = readFileSync(path);
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const uploaded = await fetch(`${url}/api/blobs/${digest}`, { method: "POST", headers, body: bytes });
  const created = await fetch(`${url}/api/create`, {
    method: "POST",
    headers,
    body: JSON.stringify({ model: name, files: { "model.gguf": digest }, stream: false }),
  });
  if (!uploaded.ok || !created.ok) throw new Error(`Cannot create ${name}: ${await created.text()}`);
}
