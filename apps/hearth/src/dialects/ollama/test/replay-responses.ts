import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { createFromFile } from "../../../models/create-from-file.ts";
import { openModelStore } from "../../../models/store/model-store.ts";
import { createRecordedStore, linkOrCopy } from "../../../models/test/stores.ts";
import { copyWithoutChatTemplate } from "../../../models/test/strip-chat-template.ts";
import { startTestServer, type TestServer } from "../../../test/start-test-server.ts";
import recordedResponses from "../fixtures/recorded-responses.json" with { type: "json" };
import type { WireResponse } from "./compare-responses.ts";

type RecordedExchange = (typeof recordedResponses)[number];

export { recordedResponses };

type ReplayServers = AsyncDisposable & { send(recorded: RecordedExchange): Promise<WireResponse> };

const uploadedBlob = "sha256-b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
/** Requests that generate. */
const generating = new Set(
  (
    "generate|generate stream|generate raw|chat|chat stream|chat json format|chat logprobs|" +
    "v1 chat|v1 chat stream|v1 completions|v1 responses stream|messages|messages stream"
  ).split("|"),
);
/** Ollama rejects it; Hearth generates, and one token is enough. */
const acceptedByHearthOnly = "bad keep alive";

/**
 * Three servers: one with the recorded store for requests about stored models, one with only the uploaded file for
 * create, and one that generates like the recorded Ollama, with the same template, stop sequences and penalty.
 */
export async function startReplay(): Promise<ReplayServers> {
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await createRecordedStore());
  const folder = stack.use(await makeTemporaryFolder("replay"));
  const limits = { contextTokens: undefined };
  const opened = stack.use(
    await startTestServer({
      models: {},
      storeFolder: store.path,
      limits,
      privateRegistries: ["127.0.0.1:9"],
    }),
  );
  const creator = stack.use(await startCreator(join(folder.path, "created")));
  const generator = stack.use(await startGenerator(folder.path));
  const resources = stack.move();
  return {
    send(recorded) {
      const isCreate = recorded.request.path === "/api/create";
      const server = isCreate ? creator : generating.has(recorded.name) ? generator : opened;
      return replay(server, recorded, store.path);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The weights were uploaded before the first recorded request. */
async function startCreator(storeFolder: string): Promise<TestServer> {
  const blobs = join(storeFolder, "blobs");
  await mkdir(blobs, { recursive: true });
  await linkOrCopy(await testModel("smollm2-135m-instruct-q4_1.gguf"), join(blobs, uploadedBlob));
  return startTestServer({ models: {}, storeFolder });
}

async function startGenerator(folder: string): Promise<TestServer> {
  const file = join(folder, "smol.gguf");
  await copyWithoutChatTemplate(file);
  const storeFolder = join(folder, "store");
  const template =
    "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n";
  // Ollama has no repeat penalty by default; the specification has one.
  const parameters = { stop: ["<|im_start|>", "<|im_end|>"], repeat_penalty: 1 };
  const store = await openModelStore(storeFolder, "own");
  await createFromFile([store], { name: "smol", file, extras: { template, parameters } });
  await rm(file);
  return startTestServer({ models: {}, storeFolder });
}

async function replay(
  server: TestServer,
  { name, request }: RecordedExchange,
  store: string,
): Promise<WireResponse> {
  const { method, path } = request;
  const isShort = name === acceptedByHearthOnly && typeof request.body === "object";
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
