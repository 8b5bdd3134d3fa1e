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
import { keepBlob } from "../store/blob-store.ts";
import { makeLayer, writeManifest } from "../store/manifest.ts";
import { stageContent } from "../store/stage-content.ts";
import { makeStore, type TestStore } from "../test/stores.ts";
import { createTransfers } from "./create-transfers.ts";
import type { TransferProgress } from "./transfer.ts";

let tiny: string;
beforeAll(async () => {
  tiny = await testModel("tiny-llama.gguf");
});

const headers = { accept: "application/vnd.docker.distribution.manifest.v2+json" };
const patience = { tries: 4, firstWaitMilliseconds: 20, longestWaitMilliseconds: 50 };

async function push({ store }: TestStore, name: string, signal = new AbortController().signal) {
  await using outbound = createOutbound({ privateHosts: ["127.0.0.1"] });
  const transfers = createTransfers({
    stores: [store],
    outbound,
    credentials: { forHost: () => undefined },
    limits: { patience },
  });
  return Array.fromAsync(transfers.push({ name, isInsecure: true, signal }));
}

/** Statuses of what the registry was asked for, by method. */
function asked(output: string, method: string): readonly number[] {
  const lines = output.split("\n").filter((line) => line.includes(`http.request.method=${method} `));
  return lines.flatMap((line) => Number(/http\.response\.status=(\d+)/u.exec(line)?.[1] ?? []));
}

test("blobs that the registry has are not sent again, and the manifest comes last", async () => {
  await using registry = await startModelRegistry();
  await using made = await makeStore();
  const { host } = new URL(registry.url);
  const name = `${host}/team/tiny:latest`;
  await createFromFile([made.store], { name, file: tiny, extras: { system: "Be brief." } });
  const steps = await push(made, name);
  expect(steps.map(({ step }) => step).at(-1)).toBe("writing-manifest");
  expect(ends(steps)).toHaveLength(3);
  const first = asked(registry.output(), "PATCH");
  expect(first).toEqual([202, 202, 202]);
  expect(ends(await push(made, name))).toHaveLength(3);
  expect(asked(registry.output(), "PATCH")).toEqual(first);
  const stored = await fetch(`${registry.url}/v2/team/tiny/manifests/latest`, { headers });
  const { digest } = await createCatalog([made.store]).describe(name);
  expect(stored.headers.get("docker-content-digest")).toBe(digest);
});

test("a layer of a model that is there already is taken from its repository", async () => {
  await using registry = await startModelRegistry();
  await using made = await makeStore();
  const { host } = new URL(registry.url);
  const [base, alias] = [`${host}/team/tiny:latest`, `${host}/team/alias:latest`];
  await createFromFile([made.store], { name: base, file: tiny });
  await push(made, base);
  const catalog = createCatalog([made.store]);
  await Array.fromAsync(catalog.create({ name: alias, origin: { kind: "model", name: base } }));
  const before = asked(registry.output(), "PATCH").length;
  await push(made, alias);
  // The configuration alone, which does not say where it is from.
  expect(asked(registry.output(), "PATCH").length - before).toBe(1);
  expect((await fetch(`${registry.url}/v2/team/alias/manifests/latest`, { headers })).status).toBe(200);
});

const largeBytes = 80 * 1024 * 1024;

test.each<readonly [string, readonly Fault[]]>([
  ["nothing", []],
  ["a connection cut in the first chunk", [cut(20)]],
  ["a connection cut in the second chunk", [cut(70)]],
  ["connections cut three times", [cut(10), cut(10), cut(10)]],
  ["a first answer that never comes whole", [{ kind: "truncate", bodyBytes: 0, times: 1 }]],
])(
  "a push arrives whole in spite of %s",
  async (_what, faults) => {
    await using registry = await startModelRegistry();
    await using proxy = await startFaultProxy({ target: registry.url, faults });
    await using made = await makeStore();
    const name = `127.0.0.1:${proxy.port}/team/large:latest`;
    const digest = await keepLarge(made, name);
    const steps = await push(made, name);
    expect(steps.at(-1)).toEqual({ step: "writing-manifest" });
    const head = await fetch(`${registry.url}/v2/team/large/blobs/${digest}`, { method: "HEAD" });
    expect([head.status, Number(head.headers.get("content-length"))]).toEqual([200, largeBytes]);
  },
  60_000,
);

test("a chunk that breaks off goes on from what the registry says it has", async () => {
  const had = 1000;
  const ranges: string[] = [];
  await using registry = await startForgivingRegistry(had, ranges);
  await using made = await makeStore();
  const name = `127.0.0.1:${registry.port}/team/tiny:latest`;
  await createFromFile([made.store], { name, file: tiny });
  await push(made, name);
  const { size } = await stat(tiny);
  expect(ranges.slice(0, 2)).toEqual([`0-${size - 1}`, `${had}-${size - 1}`]);
});

/** Cuts the first chunk of all after some bytes, and keeps those. */
async function startForgivingRegistry(had: number, ranges: string[]) {
  const server = createServer((request, response) => {
    const { method = "" } = request;
    if (method === "PATCH" && ranges.push(String(request.headers["content-range"])) === 1) {
      request.socket.destroy();
      return;
    }
    request.resume().once("end", () => {
      const status = { HEAD: 404, GET: 204, POST: 202, PATCH: 202 }[method] ?? 201;
      response.writeHead(status, { location: "/v2/upload", range: `0-${had - 1}` }).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((settle) => server.close(settle));
    },
  };
}

test("a registry that is gone ends the push with a clear failure, and so does a name that is not here", async () => {
  await using made = await makeStore();
  const name = "127.0.0.1:9/team/tiny:latest";
  await createFromFile([made.store], { name, file: tiny });
  await expect(push(made, name)).rejects.toMatchObject({
    failure: { kind: "registry-unreachable", host: "127.0.0.1:9" },
  });
  await expect(push(made, "127.0.0.1:9/team/none:latest")).rejects.toMatchObject({
    failure: { kind: "model-not-found" },
  });
});

test("who leaves ends the upload", async () => {
  await using registry = await startModelRegistry();
  const slow: Fault = { kind: "throttle", bytesPerSecond: 1024 * 1024, direction: "to-target" };
  await using proxy = await startFaultProxy({ target: registry.url, faults: [slow] });
  await using made = await makeStore();
  const name = `127.0.0.1:${proxy.port}/team/large:latest`;
  await keepLarge(made, name);
  const left = new AbortController();
  setTimeout(() => left.abort(), 500);
  const started = performance.now();
  await expect(push(made, name, left.signal)).rejects.toMatchObject({ name: "AbortError" });
  expect(performance.now() - started).toBeLessThan(5000);
  expect((await fetch(`${registry.url}/v2/team/large/manifests/latest`)).status).toBe(404);
});

function cut(mebibytes: number): Fault {
  return { kind: "cut", afterBytes: mebibytes * 1024 * 1024, how: "reset", direction: "to-target", times: 1 };
}

/** The layers that were told to be there. */
function ends(steps: readonly TransferProgress[]): readonly string[] {
  const whole = steps.flatMap((step) =>
    step.step === "moving-layer" && step.completedBytes === step.totalBytes ? [step.digest] : [],
  );
  return [...new Set(whole)];
}

/** A model of two chunks; what is in them is nobody's business on the way out. */
async function keepLarge({ store }: TestStore, name: string): Promise<string> {
  await using staged = await stageContent(store, [randomBytes(largeBytes)]);
  await keepBlob(store, staged);
  const manifest = { config: null, layers: [makeLayer("model", staged)] };
  await replaceManifest(
    store,
    parseModelName(name),
    writeManifest({ ...manifest, config: makeLayer("model", staged) }),
  );
  return staged.digest;
}
