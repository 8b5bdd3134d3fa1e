/**
 * @module
 * The page as people meet it, for tests: the real Hearth in a process of its own with llama.cpp on one thread, and a
 * browser, on free ports of this machine. Models are put in through the API.
 * Imported by the page's tests.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
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

export type PageStage = AsyncDisposable & {
  readonly url: string;
  readonly browser: TestBrowser;
  /** A new visitor on one of the page's places. */
  open(place?: string, visitor?: BrowserContextOptions): Promise<Page>;
  /** What Hearth has written to its log so far. */
  readonly log: () => string;
};

export type StagePlan = {
  /** Names of models and the files they are made from. */
  readonly models?: Readonly<Record<string, TestModelName>>;
  readonly key?: string;
  /** A name besides its own that browsers may call it by. */
  readonly allowedHost?: string;
  /** One that is there already, and is its starter's to end. */
  readonly browser?: TestBrowser;
};

export const smol = { smol: "smollm2-135m-instruct-q4_1.gguf" } as const;

const program = fileURLToPath(new URL("../../hearth/bin/hearth.js", import.meta.url));
const patience = 20_000;

export async function startPageStage({
  models = {},
  key,
  allowedHost = "",
  ...plan
}: StagePlan = {}): Promise<PageStage> {
  await using undo = new AsyncDisposableStack();
  const store = undo.use(await makeTemporaryFolder("hearth-models"));
  const home = undo.use(await makeTemporaryFolder("hearth-home"));
  const hearth = undo.use(
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
      },
      isReady: (output) => /listens on \S+/u.test(output),
      readyWithinSeconds: 60,
    }),
  );
  const url = /listens on (\S+)/u.exec(hearth.output())?.[1] ?? "";
  for (const [name, file] of Object.entries(models)) await putModel({ url, key }, name, file);
  const browser = plan.browser ?? undo.use(await startBrowser());
  const owned = undo.move();
  return {
    url,
    browser,
    log: () => hearth.output(),
    open: async (place = "", visitor = {}) => {
      const page = await browser.openPage(`${url}/ui${place}`, visitor);
      page.setDefaultTimeout(patience);
      return page;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type Server = { readonly url: string; readonly key: string | undefined };

async function putModel({ url, key }: Server, name: string, file: TestModelName): Promise<void> {
  const path = await testModel(file);
  const bytes = readFileSync(path);
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const sent = await fetch(`${url}/api/blobs/${digest}`, { method: "POST", headers, body: bytes });
  const made = await fetch(`${url}/api/create`, {
    method: "POST",
    headers,
    body: JSON.stringify({ model: name, files: { "model.gguf": digest }, stream: false }),
  });
  if (!sent.ok || !made.ok) throw new Error(`Cannot put ${name} into the store: ${await made.text()}`);
}
