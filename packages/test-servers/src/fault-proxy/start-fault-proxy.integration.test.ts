import { randomBytes } from "node:crypto";
import { get } from "node:http";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Descriptor,
  pullBlob,
  pushBlob,
  type RegistryRepository,
} from "../registries/registry-client.ts";
import { type ModelRegistry, startModelRegistry } from "../registries/start-model-registry.ts";
import type { Fault } from "./fault.ts";
import { type FaultProxy, startFaultProxy } from "./start-fault-proxy.ts";

const content = randomBytes(300_000);
const small = Buffer.from("a small blob");
let registry: ModelRegistry;
let blob: Descriptor;
let smallBlob: Descriptor;

beforeAll(async () => {
  registry = await startModelRegistry();
  blob = await pushBlob(repositoryAt(registry.url), content);
  smallBlob = await pushBlob(repositoryAt(registry.url), small);
});

afterAll(() => registry[Symbol.asyncDispose]());

test("without faults bytes are unchanged and counted", async () => {
  await using proxy = await startProxy();

  expect((await pullBlob(repositoryAt(proxy.url), blob.digest)).equals(content)).toBe(true);
  const counts = proxy.counts();
  expect(counts.connections).toBe(1);
  expect(counts.bytesToTarget).toBeGreaterThan(50);
  expect(counts.bytesToClient).toBeGreaterThan(content.length);
  expect(counts.bytesToClient).toBeLessThan(content.length + 1000);
});

test("a delay holds back every response once", async () => {
  await using proxy = await startProxy({ kind: "delay", milliseconds: 500 });

  for (const digest of [blob.digest, smallBlob.digest]) {
    const seconds = await measure(() => pullBlob(repositoryAt(proxy.url), digest));
    expect(seconds).toBeGreaterThan(0.49);
    // The large blob arrives in five chunks or more; delaying each would take longer than this.
    expect(seconds).toBeLessThan(2.4);
  }
  await proxy.setFaults([]);
  expect(await measure(() => pullBlob(repositoryAt(proxy.url), blob.digest))).toBeLessThan(0.49);
});

test("a throttled response is slow but complete", async () => {
  await using proxy = await startProxy({ kind: "throttle", bytesPerSecond: 600_000 });
  let pulled: Buffer | undefined;

  const seconds = await measure(async () => (pulled = await pullBlob(repositoryAt(proxy.url), blob.digest)));

  expect(seconds).toBeGreaterThan(0.45);
  expect(pulled?.equals(content)).toBe(true);
});

test("removing a throttle midway lets the rest through immediately", async () => {
  await using proxy = await startProxy({ kind: "throttle", bytesPerSecond: 1000 });
  const pulling = pullBlob(repositoryAt(proxy.url), blob.digest);
  await until(() => proxy.counts().bytesToClient > 100);

  await proxy.setFaults([]);

  expect((await pulling).equals(content)).toBe(true);
});

test("a stalled response stops after its bytes, stays open, and continues when the fault is removed", async () => {
  await using proxy = await startProxy({ kind: "stall", afterBytes: 10_000 });
  const pulling = pullBlob(repositoryAt(proxy.url), blob.digest);
  await until(() => proxy.counts().bytesToClient >= 10_000);
  await pause(100);
  expect(proxy.counts()).toMatchObject({ bytesToClient: 10_000, openConnections: 1 });

  await proxy.setFaults([]);

  expect((await pulling).equals(content)).toBe(true);
});

test("a response cut by a reset fails with ECONNRESET after exactly its bytes", async () => {
  await using proxy = await startProxy({ kind: "cut", afterBytes: 20_000, how: "reset" });

  await expect(pullFresh(proxy, blob)).rejects.toThrow("ECONNRESET");
  expect(proxy.counts().bytesToClient).toBe(20_000);
});

test("a response that is closed early ends without a socket error", async () => {
  await using proxy = await startProxy({ kind: "cut", afterBytes: 20_000, how: "close" });

  // Node's client reports a body shorter than its Content-Length as "aborted".
  await expect(pullFresh(proxy, blob)).rejects.toThrow("aborted");
  expect(proxy.counts().bytesToClient).toBe(20_000);
});

test("a connection cut after 0 bytes is reset before any response", async () => {
  await using proxy = await startProxy({ kind: "cut", afterBytes: 0, how: "reset" });

  await expect(pullFresh(proxy, blob)).rejects.toThrow(/ECONNRESET|socket hang up|EPIPE/);
  expect(proxy.counts().bytesToClient).toBe(0);
});

test("a truncated body is detected by its length, a shorter one passes", async () => {
  await using proxy = await startProxy({ kind: "truncate", bodyBytes: 1000 });

  await expect(pullBlob(repositoryAt(proxy.url), blob.digest)).rejects.toThrow("terminated");
  expect(await pullBlob(repositoryAt(proxy.url), smallBlob.digest)).toEqual(small);
});

test("every body of a connection is counted separately", async () => {
  await using proxy = await startProxy({ kind: "truncate", bodyBytes: small.length + 5 });

  for (const _ of [1, 2, 3, 4, 5]) {
    expect(await pullBlob(repositoryAt(proxy.url), smallBlob.digest)).toEqual(small);
  }
  // At least one connection carried two bodies, which together exceed the limit.
  expect(proxy.counts().connections).toBeLessThan(5);
});

test("a truncated body with a matching false length is detected only by its digest", async () => {
  await using proxy = await startProxy(
    { kind: "lie-about-length", addBytes: 1000 - content.length },
    { kind: "truncate", bodyBytes: 1000 },
  );

  const response = await fetch(`${repositoryAt(proxy.url).address}/blobs/${blob.digest}`);
  expect(Buffer.from(await response.arrayBuffer())).toEqual(content.subarray(0, 1000));
  await expect(pullBlob(repositoryAt(proxy.url), blob.digest)).rejects.toThrow("its content has");
});

test("a flipped bit breaks the digest, only as often as configured", async () => {
  await using proxy = await startProxy({ kind: "flip-bit", bodyByte: 123_456, bit: 3, times: 1 });
  const expected = Buffer.from(content);
  expected.writeUInt8(expected.readUInt8(123_456) ^ 0b1000, 123_456);

  const response = await fetch(`${repositoryAt(proxy.url).address}/blobs/${blob.digest}`);
  expect(Buffer.from(await response.arrayBuffer()).equals(expected)).toBe(true);
  expect((await pullBlob(repositoryAt(proxy.url), blob.digest)).equals(content)).toBe(true);
});

test("a bit flipped on the way to the target makes the registry reject the upload", async () => {
  const upload = randomBytes(5000);
  await using proxy = await startProxy({ kind: "flip-bit", bodyByte: 4999, direction: "to-target" });

  await expect(pushBlob(repositoryAt(proxy.url), upload)).rejects.toThrow("DIGEST_INVALID");
  await proxy.setFaults([]);
  expect(await pushBlob(repositoryAt(proxy.url), upload)).toMatchObject({ size: 5000 });
});

test("a false length is in the head and shortens the body", async () => {
  await using proxy = await startProxy({ kind: "lie-about-length", addBytes: -10 });
  const url = `${repositoryAt(proxy.url).address}/blobs/${blob.digest}`;

  const head = await fetch(url, { method: "HEAD" });
  expect(head.headers.get("content-length")).toBe(String(content.length - 10));
  await expect(pullBlob(repositoryAt(proxy.url), blob.digest)).rejects.toThrow("its content has");
});

test("refused connections get ECONNREFUSED until the fault is removed", async () => {
  await using proxy = await startProxy({ kind: "refuse" });

  await expect(pullFresh(proxy, blob)).rejects.toThrow("ECONNREFUSED");
  await proxy.setFaults([]);
  expect((await pullFresh(proxy, blob)).equals(content)).toBe(true);
});

test("all open connections can be cut at once", async () => {
  await using proxy = await startProxy({ kind: "throttle", bytesPerSecond: 1000 });
  const pulling = Promise.allSettled([pullFresh(proxy, blob), pullFresh(proxy, blob)]);
  await until(() => proxy.counts().bytesToClient > 200);

  proxy.cutConnections("reset");

  const reasons = (await pulling).map((result) => result.status === "rejected" && String(result.reason));
  expect(reasons).toEqual([expect.stringContaining("ECONNRESET"), expect.stringContaining("ECONNRESET")]);
  await until(() => proxy.counts().openConnections === 0);
});

test("a fault for the second connection does not affect the first and the third", async () => {
  await using proxy = await startProxy({ kind: "cut", afterBytes: 500, how: "reset", connection: 2 });

  expect((await pullFresh(proxy, blob)).equals(content)).toBe(true);
  await expect(pullFresh(proxy, blob)).rejects.toThrow("ECONNRESET");
  expect((await pullFresh(proxy, blob)).equals(content)).toBe(true);
});

test("an invalid fault is rejected by name", async () => {
  await expect(startProxy({ kind: "throttle", bytesPerSecond: 0 })).rejects.toThrow(
    'Cannot set the fault "throttle": bytesPerSecond is 0',
  );
  await expect(startProxy({ kind: "flip-bit", bodyByte: 0, bit: 8 })).rejects.toThrow("bit is 8");
  await expect(startFaultProxy({ target: "nowhere" })).rejects.toThrow('"nowhere" is not an address');
});

function startProxy(...faults: readonly Fault[]): Promise<FaultProxy> {
  return startFaultProxy({ target: registry.url, faults });
}

function repositoryAt(url: string): RegistryRepository {
  return { address: `${url}/v2/test/model` };
}

/** Pulls over a new connection, so that a socket error is reported before the error of the broken body. */
function pullFresh(proxy: FaultProxy, { digest }: Descriptor): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const request = get(`${repositoryAt(proxy.url).address}/blobs/${digest}`, { agent: false });
  request.on("error", reject);
  request.on("response", (response) => void buffer(response).then(resolve, reject));
  return promise;
}

async function measure(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return (performance.now() - start) / 1000;
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await pause(5);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
