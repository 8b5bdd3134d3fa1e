import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { recordFigure } from "@hearth-and-keep/figures";
import {
  descendantsOf,
  makeTemporaryFolder,
  type OwnedProcess,
  readProcessFile,
  startProcess,
  testModel,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createFromFile } from "../../apps/hearth/src/models/create-from-file.ts";
import { openModelStore } from "../../apps/hearth/src/models/store/model-store.ts";

const program = fileURLToPath(new URL("../../apps/hearth/bin/hearth.js", import.meta.url));
const key = "canary-key-4f1d9a";
const wrongKey = "canary-wrong-77ab03";
const prompt = "canary-prompt-c81e72";
const image = Buffer.from("canary-image-5d20be").toString("base64");
const canaries = [
  key,
  wrongKey,
  prompt,
  "canary-image-5d20be",
  image,
  Buffer.from(prompt).toString("base64"),
];

const options = { num_predict: 4 };
const turn = { role: "user", content: prompt };
const withImage = { ...turn, images: [image] };
const imageSource = { type: "base64", media_type: "image/png", data: image };

/** Requests that succeed, and requests that are rejected, with the canary in the invalid field. */
const requests: readonly (readonly [path: string, body: object])[] = [
  ["/api/generate", { prompt, system: prompt, stream: false, options }],
  ["/api/chat", { messages: [turn], options }],
  ["/v1/chat/completions", { messages: [turn], max_tokens: 4, stream: true }],
  ["/v1/responses", { input: prompt, max_output_tokens: 16 }],
  ["/v1/messages", { messages: [turn], max_tokens: 4, stream: true }],
  ["/v1/messages/count_tokens", { messages: [turn] }],
  ["/api/chat", { messages: [withImage], stream: false }],
  ["/api/generate", { prompt: `${prompt} `.repeat(4000), truncate: false, stream: false }],
  ["/api/chat", { messages: prompt }],
  ["/api/chat", { messages: [turn], format: { type: prompt }, stream: false }],
  ["/v1/chat/completions", { messages: [{ role: 7, content: prompt }] }],
  ["/v1/chat/completions", { messages: [turn], temperature: prompt }],
  ["/v1/chat/completions", { messages: [{ ...turn, content: `${prompt} `.repeat(4000) }] }],
  [
    "/v1/chat/completions",
    {
      messages: [
        { ...turn, content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${image}` } }] },
      ],
    },
  ],
  ["/v1/responses", { input: [{ type: "message", role: "user", content: [{ type: 9, text: prompt }] }] }],
  [
    "/v1/messages",
    { messages: [{ ...turn, content: [{ type: "image", source: imageSource }] }], max_tokens: 4 },
  ],
  ["/v1/messages", { messages: [{ ...turn, content: `${prompt} `.repeat(4000) }], max_tokens: 4 }],
  ["/v1/messages", { messages: [turn], max_tokens: prompt }],
];

async function startHearth(folder: string, keyFile: string, temporary: string): Promise<OwnedProcess> {
  return startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", "--threads", "1", "--log-level", "debug"],
    environment: { HEARTH_MODELS: folder, HEARTH_API_KEY_FILE: keyFile, TMPDIR: temporary },
    isReady: (output) => output.includes("Hearth is listening on"),
    readyWithinSeconds: 60,
  });
}

/** Sends every kind of request and returns the error responses. */
async function sendAll(
  url: string,
): Promise<{ readonly errorResponses: string; readonly succeeded: number }> {
  const errorResponses: string[] = [];
  let succeeded = 0;
  for (const [path, body] of requests) {
    const text = JSON.stringify({ model: "tiny", ...body });
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${url}${path}`, { method: "POST", headers, body: text });
    const responseText = await response.text();
    if (response.ok) succeeded += 1;
    else errorResponses.push(`${path} ${response.status} ${responseText}`);
  }
  for (const path of ["/api/tags", "/v1/models", "/alt/v1/models"]) {
    const response = await fetch(`${url}${path}`, { headers: { "x-api-key": wrongKey } });
    errorResponses.push(`${path} ${response.status} ${await response.text()}`);
  }
  return { errorResponses: errorResponses.join("\n"), succeeded };
}

function filesUnder(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

test("a canary in prompts, images and keys appears nowhere but in the responses to its own requests", {
  timeout: 120_000,
}, async () => {
  await using folder = await makeTemporaryFolder("models");
  await using temporary = await makeTemporaryFolder("temporary");
  await using secrets = await makeTemporaryFolder("secrets");
  const keyFile = join(secrets.path, "key");
  await writeFile(keyFile, key, { mode: 0o600 });
  const store = await openModelStore(folder.path, "own");
  await createFromFile([store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  await using hearth = await startHearth(folder.path, keyFile, temporary.path);
  const url = /Hearth is listening on (\S+)/.exec(hearth.output())?.[1] ?? "";
  const { errorResponses, succeeded } = await sendAll(url);
  expect(succeeded).toBe(7);
  expect(errorResponses.split("\n")).toHaveLength(requests.length - succeeded + 3);
  const pids = [hearth.pid, ...descendantsOf(hearth.pid)];
  expect(pids.length).toBeGreaterThan(1);
  const metrics = await fetch(`${url}/metrics`, { headers: { "x-api-key": key } });
  const outputs: Readonly<Record<string, string>> = {
    "the log": hearth.output(),
    "error responses": errorResponses,
    metrics: await metrics.text(),
    "command lines": pids.map((pid) => readProcessFile(pid, "cmdline")).join("\n"),
    environments: pids.map((pid) => readProcessFile(pid, "environ")).join("\n"),
    files: [...filesUnder(temporary.path), ...filesUnder(folder.path)]
      .map((path) => `${path} ${readFileSync(path, "latin1")}`)
      .join("\n"),
  };
  // Each of them has real content.
  expect(outputs["the log"]).toContain('"route":"POST /api/chat"');
  expect(outputs["metrics"]).toContain("hearth_requests_total");
  expect(outputs["command lines"]).toContain("serve");
  expect(outputs["environments"]).toContain("HEARTH_API_KEY_FILE");
  expect(outputs["files"]).toContain("sha256");
  const found = Object.entries(outputs).flatMap(([output, text]) =>
    canaries.filter((canary) => text.includes(canary)).map((canary) => `${canary} in ${output}`),
  );
  expect(found).toEqual([]);
  recordFigure({
    claim: "families 14",
    text: `${canaries.length} canaries in ${requests.length} requests, ${Object.keys(outputs).length} outputs of ${pids.length} processes searched: none found`,
    counted: { reached: Object.keys(outputs).length, needed: 6 },
  });
});
