import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import { type Entry, writeModel } from "@hearth-and-keep/gguf/testing";
import { expect, test } from "vitest";
import { ask } from "../dialects/ollama/test/ask.ts";
import { startTestServer } from "../test/start-test-server.ts";
import { createFromFile } from "./create-from-file.ts";
import { parseDigest } from "./store/digest.ts";
import { type Layer, makeLayer } from "./store/manifest.ts";
import { makeStore } from "./test/stores.ts";
import { passGate } from "./transfers/validate-model-files.ts";

const replacement = "hf.co/ggml-org/gpt-oss-20b-GGUF";

test("a file in Ollama's own dialect is neither created nor pulled, and the refusal names what to pull", async () => {
  await using made = await makeStore();
  const path = join(made.path, "own.gguf");
  await writeFile(path, header("gptoss"));
  await expect(createFromFile([made.store], { name: "own", file: path })).rejects.toSatisfy(isRefusal);
  const layer = await keepBlob(made.path, header("gptoss"));
  await expect(passGate([made.store], [layer])).rejects.toSatisfy(isRefusal);
});

test("the same header as llama.cpp writes it is created and passes the gate of pulls", async () => {
  await using made = await makeStore();
  const path = join(made.path, "upstream.gguf");
  await writeFile(path, header("gpt-oss"));
  await createFromFile([made.store], { name: "upstream", file: path });
  const layer = await keepBlob(made.path, header("gpt-oss"));
  expect((await passGate([made.store], [layer])).architecture).toBe("gpt-oss");
});

test("such a model of an existing store is listed, shown and deleted; each family refuses to load it", async () => {
  await using made = await makeStore();
  const layer = await keepBlob(made.path, header("gptoss"));
  const manifest = { schemaVersion: 2, layers: [layer] };
  const place = join(made.path, "manifests/registry.ollama.ai/library/gpt-oss/latest");
  await mkdir(dirname(place), { recursive: true });
  await writeFile(place, JSON.stringify(manifest));
  await using server = await startTestServer({ models: {}, storeFolder: made.path, script: () => [] });
  const message = { messages: [{ role: "user", content: "hi" }] };
  const listed = await ask(server, { path: "/api/tags", method: "GET" }, undefined);
  expect(listed.text).toContain("gpt-oss:latest");
  expect((await ask(server, "/api/show", { model: "gpt-oss" })).status).toBe(200);
  for (const path of ["/api/chat", "/v1/chat/completions", "/v1/messages"]) {
    const refused = await ask(server, path, { model: "gpt-oss", max_tokens: 1, ...message });
    expect(refused.status, path).toBeGreaterThanOrEqual(400);
    expect(refused.text, path).toContain(replacement);
  }
  expect(server.requests).toEqual([]);
  expect((await ask(server, { path: "/api/delete", method: "DELETE" }, { model: "gpt-oss" })).status).toBe(
    200,
  );
});

function isRefusal(problem: unknown): boolean {
  if (!(problem instanceof FailureError)) return false;
  const { kind, architecture, advice } = problem.failure;
  return kind === "file-dialect-private" && architecture === "gptoss" && advice.includes(replacement);
}

function header(architecture: string): Buffer {
  const entries: Entry[] = [{ key: "general.architecture", type: "string", value: architecture }];
  return writeModel({
    entries,
    tensors: [{ name: "token_embd.weight", shape: [8], offset: 0 }],
    content: new Uint8Array(32),
  });
}

async function keepBlob(folder: string, content: Buffer): Promise<Layer> {
  const hash = createHash("sha256").update(content).digest("hex");
  await mkdir(join(folder, "blobs"), { recursive: true });
  await writeFile(join(folder, "blobs", `sha256-${hash}`), content);
  return makeLayer("model", { digest: parseDigest(`sha256:${hash}`), size: content.length });
}
