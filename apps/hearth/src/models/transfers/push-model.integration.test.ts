import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createOutbound } from "@hearth-and-keep/outbound-http";
import { type Fault, startFaultProxy, startModelRegistry, testModel } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { createCatalog } from "../catalog.ts";
import { createFromFile } from "../create-from-file.ts";
import { parseModelName } from "../model-name.ts";
import { replaceManifest } from "../replace-manifest.ts";
import { commitBlob } from "../store/blob-store.ts";
import { createLayer, encodeManifest } from "../store/manifest.ts";
import { writeStagedContent } from "../store/staged-content.ts";
import { createTestStore, type TestStore } from "../test/stores.ts";
import { createTransfers } from "./create-transfers.ts";
import type { TransferProgress } from "./transfer.ts";

let tiny: string;
beforeAll(async () => {
  tiny = await testModel("tiny-llama.gguf");
});

const headers = { accept: "application/vnd.docker.distribution.manifest.v2+json" };
const retryPolicy = { maxAttempts: 4, initialDelayMilliseconds: 20, maxDelayMilliseconds: 50 };

async function push({ store }: TestStore, name: string, signal = new AbortController().signal) {
  await using outbound = createOutbound({ privateHosts: ["127.0.0.1"] });
  const transfers = createTransfers({
    stores: [store],
    outbound,
    credentials: { forHost: () => undefined },
    limits: { retryPolicy },
  });
  return await Array.fromAsync(transfers.push({ name, isInsecure: true, signal }));
}

/** Statuses of the registry's responses to this method. */
function statusesOf(output: string, method: string): readonly number[] {
  const lines = output.split("\n").filter((line) => line.includes(`http.request.method=${method} `));
  return lines.flatMap((line) => Number(/http\.response\.status=(\d+)/u.exec(line)?.[1] ?? []));
}

test("blobs that the registry already has are not sent, and the manifest comes last", async () => {
  await using registry = await startModelRegistry();
  await using testStore = await createTestStore();
  const { host } = new URL(registry.url);
  const name = `${host}/team/tiny:latest`;
  await createFromFile([testStore.store], { name, file: tiny, extras: { system: "Be brief." } });
  const steps = await push(testStore, name);
  expect(steps.map(({ step }) => step).at(-1)).toBe("writing-manifest");
  expect(completedLayers(steps)).toHaveLength(3);
  const first = statusesOf(registry.output(), "PATCH");
  expect(first).toEqual([202, 202, 202]);
  expect(completedLayers(await push(testStore, name))).toHaveLength(3);
  expect(statusesOf(registry.output(), "PATCH")).toEqual(first);
  const stored = await fetch(`${registry.url}/v2/team/tiny/manifests/latest`, { headers });
  const { digest } = await createCatalog([testStore.store]).describe(name);
  expect(stored.headers.get("docker-content-digest")).toBe(digest);
});

test("an inherited layer is mounted from the repository of its base model", async () => {
  await using registry = await startModelRegistry();
  await using testStore = await createTestStore();
  const { host } = new URL(registry.url);
  const [base, alias] = [`${host}/team/tiny:latest`, `${host}/team/alias:latest`];
  await createFromFile([testStore.store], { name: base, file: tiny });
  await push(testStore, base);
  const catalog = createCatalog([testStore.store]);
  await Array.fromAsync(catalog.create({ name: alias, source: { kind: "model", name: base } }));
  const before = statusesOf(registry.output(), "PATCH").length;
  await push(testStore, alias);
  // Only the configuration, which does not record its base model.
  expect(statusesOf(registry.output(), "PATCH").length - before).toBe(1);
  expect((await fetch(`${registry.url}/v2/team/alias/manifests/latest`, { headers })).status).toBe(200);
});

const largeBytes = 80 * 1024 * 1024;

test.each<readonly [string, readonly Fault[]]>([
  ["nothing", []],
  ["a connection cut in the first chunk", [cut(20)]],
  ["a connection cut in the second chunk", [cut(70)]],
  ["connections cut three times", [cut(10), cut(10), cut(10)]],
  ["a truncated first response", [{ kind: "truncate", bodyBytes: 0, times: 1 }]],
])(
  "a push is complete despite %s",
  async (_fault, faults) => {
    await using registry = await startModelRegistry();
    await using proxy = await startFaultProxy({ target: registry.url, faults });
    await using testStore = await createTestStore();
    const name = `127.0.0.1:${proxy.port}/team/large:latest`;
    const digest = await saveLarge(testStore, name);
    const steps = await push(testStore, name);
    expect(steps.at(-1)).toEqual({ step: "writing-manifest" });
    const head = await fetch(`${registry.url}/v2/team/large/blobs/${digest}`, { method: "HEAD" });
    expect([head.status, Number(head.headers.get("content-length"))]).toEqual([200, largeBytes]);
  },
  60_000,
);

test("an interrupted chunk resumes at the offset that the registry reports", async () => {
  const receivedBytes = 1000;
  const ranges: string[] = [];
  await using registry = await startInterruptingRegistry(receivedBytes, ranges);
  await using testStore = await createTestStore();
  const name = `127.0.0.1:${registry.port}/team/tiny:latest`;
  await createFromFile([testStore.store], { name, file: tiny });
  await push(testStore, name);
  const { size } = await stat(tiny);
  expect(ranges.slice(0, 2)).toEqual([`0-${size - 1}`, `${receivedBytes}-${size - 1}`]);
});

/** Closes the connection during the first chunk, and reports the bytes that it received. */
async function startInterruptingRegistry(receivedBytes: number, ranges: string[]) {
  const server = createServer((request, response) => {
    const { method = "" } = request;
    if (method === "PATCH" && ranges.push(String(request.headers["content-range"])) === 1) {
      request.socket.destroy();
      return;
    }
    request.resume().once("end", () => {
      const status = { HEAD: 404, GET: 204, POST: 202, PATCH: 202 }[method] ?? 201;
      response.writeHead(status, { location: "/v2/upload", range: `0-${receivedBytes - 1}` }).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening TCP server has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((settle) => server.close(settle));
    },
  };
}

test("an unreachable registry and an unknown name fail with their own kinds", async () => {
  await using testStore = await createTestStore();
  const name = "127.0.0.1:9/team/tiny:latest";
  await createFromFile([testStore.store], { name, file: tiny });
  await expect(push(testStore, name)).rejects.toMatchObject({
    failure: { kind: "registry-unreachable", host: "127.0.0.1:9" },
  });
  await expect(push(testStore, "127.0.0.1:9/team/none:latest")).rejects.toMatchObject({
    failure: { kind: "model-not-found" },
  });
});

test("aborting ends the upload", async () => {
  await using registry = await startModelRegistry();
  const slow: Fault = { kind: "throttle", bytesPerSecond: 1024 * 1024, direction: "to-target" };
  await using proxy = await startFaultProxy({ target: registry.url, faults: [slow] });
  await using testStore = await createTestStore();
  const name = `127.0.0.1:${proxy.port}/team/large:latest`;
  await saveLarge(testStore, name);
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 500);
  const started = performance.now();
  await expect(push(testStore, name, controller.signal)).rejects.toMatchObject({ name: "AbortError" });
  expect(performance.now() - started).toBeLessThan(5000);
  expect((await fetch(`${registry.url}/v2/team/large/manifests/latest`)).status).toBe(404);
});

function cut(mebibytes: number): Fault {
  return { kind: "cut", afterBytes: mebibytes * 1024 * 1024, how: "reset", direction: "to-target", times: 1 };
}

/** Digests of the layers that were reported as complete. */
function completedLayers(steps: readonly TransferProgress[]): readonly string[] {
  const completed = steps.flatMap((step) =>
    step.step === "transferring-layer" && step.completedBytes === step.totalBytes ? [step.digest] : [],
  );
  return [...new Set(completed)];
}

/** A model of two chunks with random content, which push does not validate. */
async function saveLarge({ store }: TestStore, name: string): Promise<string> {
  await using staged = await writeStagedContent(store, [randomBytes(largeBytes)]);
  await commitBlob(store, staged);
  const manifest = { config: null, layers: [createLayer("model", staged)] };
  await replaceManifest(
    store,
    parseModelName(name),
    encodeManifest({ ...manifest, config: createLayer("model", staged) }),
  );
  return staged.digest;
}
