import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { createFromFile } from "../../../models/create-from-file.ts";
import { openModelStore } from "../../../models/store/model-store.ts";
import { linkOrCopy, makeRecordedStore } from "../../../models/test/stores.ts";
import { placeWithoutJinja } from "../../../models/test/without-jinja.ts";
import { startTestServer, type TestServer } from "../../../test/start-test-server.ts";
import recordedAnswers from "../fixtures/recorded-answers.json" with { type: "json" };
import type { WireAnswer } from "./compare-answers.ts";

type RecordedAnswer = (typeof recordedAnswers)[number];

export { recordedAnswers };

type Stage = AsyncDisposable & { ask(recorded: RecordedAnswer): Promise<WireAnswer> };

const uploadedBlob = "sha256-b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
/** Requests that have the model write. */
const writing = new Set(
  (
    "generate|generate stream|generate raw|chat|chat stream|chat json format|chat logprobs|" +
    "v1 chat|v1 chat stream|v1 completions|v1 responses stream|messages|messages stream"
  ).split("|"),
);
/** Ollama refuses it before it writes; we answer, and one token is enough. */
const answeredByUsAlone = "bad keep alive";

/**
 * Three servers. The recorded store answers what can be asked of a store; one that has only the uploaded file
 * creates; and a model with the recorded template, stops and penalty, of weights without Jinja, writes as that Ollama wrote.
 */
export async function startReplay(): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await makeRecordedStore());
  const folder = stack.use(await makeTemporaryFolder("replay"));
  const limits = { contextTokens: 4096 };
  const opened = stack.use(
    await startTestServer({
      models: {},
      storeFolder: store.path,
      limits,
      privateRegistries: ["127.0.0.1:9"],
    }),
  );
  const maker = stack.use(await startMaker(join(folder.path, "made")));
  const writer = stack.use(await startWriter(folder.path));
  const kept = stack.move();
  return {
    ask(recorded) {
      const isMade = recorded.request.path === "/api/create";
      const server = isMade ? maker : writing.has(recorded.name) ? writer : opened;
      return replay(server, recorded, store.path);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** The weights came as an upload before the first recorded call. */
async function startMaker(storeFolder: string): Promise<TestServer> {
  const blobs = join(storeFolder, "blobs");
  await mkdir(blobs, { recursive: true });
  await linkOrCopy(await testModel("smollm2-135m-instruct-q4_1.gguf"), join(blobs, uploadedBlob));
  return startTestServer({ models: {}, storeFolder });
}

async function startWriter(folder: string): Promise<TestServer> {
  const file = join(folder, "smol.gguf");
  await placeWithoutJinja(file);
  const storeFolder = join(folder, "store");
  const template =
    "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n";
  // Ollama repeats without a penalty; the specification has one by default.
  const parameters = { stop: ["<|im_start|>", "<|im_end|>"], repeat_penalty: 1 };
  const store = await openModelStore(storeFolder, "own");
  await createFromFile([store], { name: "smol", file, extras: { template, parameters } });
  await rm(file);
  return startTestServer({ models: {}, storeFolder });
}

async function replay(
  server: TestServer,
  { name, request }: RecordedAnswer,
  store: string,
): Promise<WireAnswer> {
  const { method, path } = request;
  const isShort = name === answeredByUsAlone && typeof request.body === "object";
  const body = isShort ? { ...request.body, options: { num_predict: 1 } } : request.body;
  const response = await fetch(server.url + path, {
    method,
    ...(body === null ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    contentType: response.headers.get("content-type"),
    body: text.replaceAll(store, "<store>"),
  };
}
