import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import { writeModel } from "@hearth-and-keep/gguf/testing";
import {
  makeTemporaryFolder,
  pushBlob,
  pushManifest,
  startModelRegistry,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { compare, lowerBound, sized } from "./rounds.ts";
import { startHearth } from "./served.ts";

const weights = sized(512, 64) * 1024 * 1024;
const repository = "bench/large";
const bound = 0.9;

test("a pull from a local registry is nearly as fast as curl with sha256sum", {
  timeout: 600_000,
}, async () => {
  await using registry = await startModelRegistry();
  await using folder = await makeTemporaryFolder("pull-against-curl");
  const { digest, size } = await pushLargeModel(registry.url);
  const { host } = new URL(registry.url);
  await using hearth = await startHearth("tiny-llama.gguf", { HEARTH_PRIVATE_REGISTRIES: host });
  const name = `${host}/${repository}:latest`;

  async function pull(): Promise<number> {
    const startedAt = performance.now();
    await send("POST", `${hearth.url}/api/pull`, { name, insecure: true, stream: false });
    const milliseconds = performance.now() - startedAt;
    await send("DELETE", `${hearth.url}/api/delete`, { name });
    return size / 1e3 / milliseconds;
  }
  // As in a pull, the file is hashed and synced to disk.
  const file = join(folder.path, "blob");
  const script = `set -e; curl -sS --fail "$1" | tee "$2" | sha256sum; sync "$2"`;
  async function curl(): Promise<number> {
    const startedAt = performance.now();
    const args = ["-c", script, "curl", `${registry.url}/v2/${repository}/blobs/${digest}`, file];
    const { stdout } = await promisify(execFile)("/bin/sh", args);
    const milliseconds = performance.now() - startedAt;
    expect(`sha256:${stdout.slice(0, 64)}`).toBe(digest);
    await rm(file);
    return size / 1e3 / milliseconds;
  }
  const { ratio, medians } = await compare(
    "pull-against-curl",
    { name: "pull", measure: pull },
    { name: "curl", measure: curl },
  );
  const speeds = medians.map((each) => each.toFixed(0)).join(" against ");
  const text = `a blob of ${(size / 1e6).toFixed(0)} MB: ${ratio.toFixed(3)} of curl (${speeds} MB/s), needed ${bound}`;
  recordFigure({ claim: "store 8", text });
  expect(ratio).toBeGreaterThanOrEqual(lowerBound(bound));
});

async function send(method: string, url: string, body: unknown): Promise<void> {
  const response = await fetch(url, { method, body: JSON.stringify(body) });
  expect([response.status, await response.text()]).toEqual([200, expect.not.stringContaining("error")]);
}

/** Pushes one tensor, large enough that start-up costs are negligible; its repeated content makes no difference. */
async function pushLargeModel(url: string): Promise<{ readonly digest: string; readonly size: number }> {
  const block = randomBytes(1024 * 1024);
  const content = Buffer.alloc(weights);
  for (let offset = 0; offset < content.length; offset += block.length) block.copy(content, offset);
  const file = writeModel({
    entries: [{ key: "general.architecture", type: "string", value: "llama" }],
    tensors: [{ name: "large.weight", shape: [8192, weights / 4 / 8192], offset: 0 }],
    content,
  });
  const target = { address: `${url}/v2/${repository}` };
  const model = await pushBlob(target, file, "application/vnd.ollama.image.model");
  const config = await pushBlob(target, Buffer.from("{}"), "application/vnd.docker.container.image.v1+json");
  await pushManifest(target, "latest", { config, layers: [model] });
  return model;
}
