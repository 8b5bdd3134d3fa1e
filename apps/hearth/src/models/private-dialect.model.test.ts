import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import { type Entry, writeModel } from "@hearth-and-keep/gguf/testing";
import { expect, test } from "vitest";
import { sendRequest } from "../dialects/ollama/test/send-request.ts";
import { startTestServer } from "../test/start-test-server.ts";
import { createFromFile } from "./create-from-file.ts";
import { validateModelFiles } from "./metadata/inspect-weights.ts";
import { parseDigest } from "./store/digest.ts";
import { createLayer, type Layer } from "./store/manifest.ts";
import { createTestStore } from "./test/stores.ts";

const replacement = "hf.co/ggml-org/gpt-oss-20b-GGUF";

test("a file in Ollama's own variant of GGUF is neither created nor pulled, and the failure names a replacement", async () => {
  await using testStore = await createTestStore();
  const path = join(testStore.path, "own.gguf");
  await writeFile(path, header("gptoss"));
  await expect(createFromFile([testStore.store], { name: "own", file: path })).rejects.toSatisfy(isRejection);
  const layer = await storeBlob(testStore.path, header("gptoss"));
  await expect(validateModelFiles([testStore.store], [layer])).rejects.toSatisfy(isRejection);
});

test("the same header as converted by llama.cpp is accepted by create and pull", async () => {
  await using testStore = await createTestStore();
  const path = join(testStore.path, "upstream.gguf");
  await writeFile(path, header("gpt-oss"));
  await createFromFile([testStore.store], { name: "upstream", file: path });
  const layer = await storeBlob(testStore.path, header("gpt-oss"));
  expect((await validateModelFiles([testStore.store], [layer])).architecture).toBe("gpt-oss");
});

test("such a model of an existing store can be listed, shown and deleted, and every API refuses to load it", async () => {
  await using testStore = await createTestStore();
  const layer = await storeBlob(testStore.path, header("gptoss"));
  const manifest = { schemaVersion: 2, layers: [layer] };
  const manifestPath = join(testStore.path, "manifests/registry.ollama.ai/library/gpt-oss/latest");
  await mkdir(dirname(manifestPath), { recursive: true });
  await writeFile(manifestPath, JSON.stringify(manifest));
  await using server = await startTestServer({ models: {}, storeFolder: testStore.path, script: () => [] });
  const message = { messages: [{ role: "user", content: "hi" }] };
  const listed = await sendRequest(server, { path: "/api/tags", method: "GET" }, undefined);
  expect(listed.text).toContain("gpt-oss:latest");
  expect((await sendRequest(server, "/api/show", { model: "gpt-oss" })).status).toBe(200);
  for (const path of ["/api/chat", "/v1/chat/completions", "/v1/messages"]) {
    const refused = await sendRequest(server, path, { model: "gpt-oss", max_tokens: 1, ...message });
    expect(refused.status, path).toBeGreaterThanOrEqual(400);
    expect(refused.text, path).toContain(replacement);
  }
  expect(server.requests).toEqual([]);
  expect(
    (await sendRequest(server, { path: "/api/delete", method: "DELETE" }, { model: "gpt-oss" })).status,
  ).toBe(200);
});

function isRejection(error: unknown): boolean {
  if (!(error instanceof FailureError)) return false;
  const { kind, architecture, advice } = error.failure;
  return kind === "file-dialect-unsupported" && architecture === "gptoss" && advice.includes(replacement);
}

function header(architecture: string): Buffer {
  const entries: Entry[] = [{ key: "general.architecture", type: "string", value: architecture }];
  return writeModel({
    entries,
    tensors: [{ name: "token_embd.weight", shape: [8], offset: 0 }],
    content: new Uint8Array(32),
  });
}

async function storeBlob(folder: string, content: Buffer): Promise<Layer> {
  const hash = createHash("sha256").update(content).digest("hex");
  await mkdir(join(folder, "blobs"), { recursive: true });
  await writeFile(join(folder, "blobs", `sha256-${hash}`), content);
  return createLayer("model", { digest: parseDigest(`sha256:${hash}`), size: content.length });
}
