import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import {
  type Fault,
  makeTemporaryFolder,
  startFaultProxy,
  type TemporaryFolder,
} from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { digestOf } from "../store/digest.ts";
import { type MalformedRegistry, manifestOf, startMalformedRegistry } from "../test/malformed-registry.ts";
import {
  bodyFaults,
  type MalformedResponse,
  malformFirst,
  manifestFaults,
  type PullOutcome,
  requireToken,
  weightsFaults,
} from "../test/malformed-registry-responses.ts";
import type { DiskOutcome } from "../test/pull-on-small-disk.ts";
import { openPuller } from "../test/puller.ts";
import { writeRandomModel } from "../test/seeded-registry.ts";
import { readVerifiedStore, verifyBlobs } from "../test/verify-store.ts";
import { blockBytes } from "./partial-file.ts";
import type { TransferProgress } from "./transfer.ts";

/** Smaller than the default in CI, where hashing large models would take most of the time. */
const blocksPerRange = chooseSize({ ci: 4, show: 16, nightly: 16 });
/** Slightly more than two ranges. */
const large = writeRandomModel(Math.round(2.1 * blocksPerRange * blockBytes));
const small = writeRandomModel(4096);
const maxSeconds = 60;
/** A short timeout, because many faults are a registry that stops sending. */
const faultLimits = { idleSeconds: chooseSize({ ci: 1, show: 3, nightly: 3 }), blocksPerRange };
/** Slightly larger than the model. */
const diskBytes = partOfModel(1.3);
const ballastBytes = partOfModel(0.9);
const diskProgram = fileURLToPath(new URL("../test/pull-on-small-disk.ts", import.meta.url));
const slow = { kind: "throttle", bytesPerSecond: partOfModel(0.06) } as const;
/** One for each connection. */
const maxUnfinishedBlocks = 4;
const neededCases = 100;

type Registries = { readonly large: MalformedRegistry; readonly small: MalformedRegistry };
let registries: Registries;
let folder: TemporaryFolder;
let stores = 0;
const passed = { faults: 0, controls: 0 };

beforeAll(async () => {
  folder = await makeTemporaryFolder("faulty-registry");
  registries = {
    large: await startMalformedRegistry({ weights: large }),
    small: await startMalformedRegistry({ weights: small }),
  };
});
afterAll(async () => {
  await registries.large[Symbol.asyncDispose]();
  await registries.small[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** Most of these wait for a response that never comes, so they run at once, each with a registry of its own. */
describe.each([
  {
    part: "responses for the weights",
    weights: large,
    responses: { ...bodyFaults("weights"), ...weightsFaults },
  },
  {
    part: "manifests",
    weights: small,
    responses: { ...bodyFaults("manifest"), ...manifestFaults(manifestOf({ weights: small })) },
  },
  { part: "responses for the configuration", weights: small, responses: bodyFaults("config") },
  { part: "responses from its token server", weights: small, responses: bodyFaults("token") },
])("a registry with malformed $part", ({ weights, responses }) => {
  test.concurrent.each(Object.entries(responses))(
    "%s",
    async (_name, malformed) => {
      await using registry = await startMalformedRegistry({ weights });
      expect(await tryPulls(registry, malformed)).toBe(malformed.isTransient === true ? 2 : 1);
    },
    maxSeconds * 3000,
  );
});

describe("a registry with inconsistent content", () => {
  test("a manifest that does not match the digest in the name", async () => {
    const { host } = registries.small;
    const digest = digestOf(JSON.stringify(manifestOf({ weights: small })));
    registries.small.setOverride(undefined);
    await using puller = await openPuller(newStore(), { blocksPerRange });
    expect(await puller.pull(`${host}/team/model@sha256:${"0".repeat(64)}`)).toBe("transfer-corrupted");
    expect(await readVerifiedStore(lastStore())).toEqual({});
    expect(await puller.pull(`${host}/team/model@${digest}`)).toBe("success");
    expect(Object.values(await readVerifiedStore(lastStore()))).toEqual([digest]);
    passed.faults += 1;
    passed.controls += 1;
  });

  test.each([
    [
      "a configuration that is not JSON",
      { weights: small, config: Buffer.from("<html>") },
      "manifest-invalid",
    ],
    ["weights that are not a model", { weights: Buffer.alloc(5000, 7) }, "model-file-invalid"],
  ])("%s", async (_name, model, outcome) => {
    await using registry = await startMalformedRegistry(model);
    await using puller = await openPuller(newStore(), { blocksPerRange });
    expect(await puller.pull(`${registry.host}/team/model`)).toBe(outcome);
    expect(await readVerifiedStore(lastStore())).toEqual({});
    expect(await verifyBlobs(lastStore())).toBe(0);
    registries.small.setOverride(undefined);
    expect(await puller.pull(`${registries.small.host}/team/model`)).toBe("success");
    passed.faults += 1;
    passed.controls += 1;
  });
});

/** Every fault of the proxy; the first bytes of a connection belong to the manifest. */
const faults: readonly { readonly fault: Fault; readonly outcomes: readonly PullOutcome[] }[] = [
  { fault: { kind: "refuse" }, outcomes: ["registry-unreachable"] },
  { fault: { kind: "delay", milliseconds: 200 }, outcomes: ["success"] },
  { fault: { kind: "throttle", bytesPerSecond: partOfModel(0.6) }, outcomes: ["success"] },
  { fault: { kind: "throttle", bytesPerSecond: 100 }, outcomes: ["registry-unreachable"] },
  { fault: { kind: "stall", afterBytes: 0 }, outcomes: ["registry-unreachable"] },
  { fault: { kind: "stall", afterBytes: partOfModel(0.4), times: 3 }, outcomes: ["success"] },
  { fault: { kind: "cut", afterBytes: 0, how: "reset" }, outcomes: ["registry-unreachable"] },
  { fault: { kind: "cut", afterBytes: 0, how: "close" }, outcomes: ["registry-unreachable"] },
  { fault: { kind: "cut", afterBytes: partOfModel(0.4), how: "reset" }, outcomes: ["success"] },
  { fault: { kind: "cut", afterBytes: partOfModel(0.4), how: "close" }, outcomes: ["success"] },
  { fault: { kind: "truncate", bodyBytes: partOfModel(0.4) }, outcomes: ["success"] },
  { fault: { kind: "truncate", bodyBytes: 1000 }, outcomes: ["registry-unreachable"] },
  { fault: { kind: "flip-bit", bodyByte: partOfModel(0.03) }, outcomes: ["transfer-corrupted"] },
  { fault: { kind: "flip-bit", bodyByte: partOfModel(0.03), times: 1 }, outcomes: ["success"] },
  {
    fault: { kind: "lie-about-length", addBytes: 1000 },
    outcomes: ["registry-response-invalid", "registry-unreachable"],
  },
  {
    fault: { kind: "lie-about-length", addBytes: -10 },
    outcomes: ["registry-response-invalid", "registry-unreachable"],
  },
  { fault: { kind: "lie-about-length", addBytes: 1000, times: 1 }, outcomes: ["success"] },
];

/** One after another: a reset discards what a busy client has not read yet. */
describe("a connection that misbehaves", () => {
  test.each(faults.map((each) => [JSON.stringify(each.fault), each] as const))(
    "%s",
    async (_name, { fault, outcomes }) => {
      await using proxy = await startFaultProxy({ target: registries.large.url, faults: [fault] });
      const repair = (): Promise<void> => proxy.setFaults([]);
      expect(await checkPull({ host: `127.0.0.1:${proxy.port}`, outcomes, repair })).toBe("consistent");
    },
    maxSeconds * 3000,
  );
});

describe("several clients", () => {
  test("two concurrent pulls of one digest share a download", async () => {
    await using puller = await openPuller(newStore(), { blocksPerRange });
    registries.large.setOverride(undefined);
    const names = ["one", "two"].map((model) => `${registries.large.host}/team/${model}:latest`);
    expect(await Promise.all(names.map((name) => puller.pull(name)))).toEqual(["success", "success"]);
    expect(registries.large.counts().weightsBytes).toBe(large.length);
    expect(Object.keys(await readVerifiedStore(lastStore()))).toEqual(names);
    passed.faults += 1;
    passed.controls += 1;
  });

  test("a disconnecting client does not affect the others; the download stops with the last client and can be resumed", async () => {
    await using proxy = await startFaultProxy({ target: registries.large.url, faults: [slow] });
    await using puller = await openPuller(newStore(), { blocksPerRange });
    registries.large.setOverride(undefined);
    const name = `127.0.0.1:${proxy.port}/team/model:latest`;
    const [first, second] = [new AbortController(), new AbortController()];
    const started = Promise.withResolvers<void>();
    const one = puller.pull(name, { signal: first.signal }).catch(() => "aborted");
    const other = puller
      .pull(name, {
        signal: second.signal,
        onProgress: (progress) => resolveWhenStarted(progress, started.resolve),
      })
      .catch(() => "aborted");
    await sleep(100);
    first.abort();
    expect(await one).toBe("aborted");
    await started.promise;
    second.abort();
    expect(await other).toBe("aborted");
    await sleep(300);
    const sent = proxy.counts().bytesToClient;
    await sleep(300);
    expect(proxy.counts()).toMatchObject({ bytesToClient: sent });
    expect(await readVerifiedStore(lastStore())).toEqual({});
    await proxy.setFaults([]);
    expect(await puller.pull(name)).toBe("success");
    expect(proxy.counts().bytesToClient).toBeLessThan(large.length + maxUnfinishedBlocks * blockBytes);
    expect(Object.keys(await readVerifiedStore(lastStore()))).toEqual([name]);
    passed.faults += 2;
    passed.controls += 2;
  });
});

test("a full, filling or failing disk fails the pull and leaves the store consistent", async () => {
  registries.large.setOverride(undefined);
  const name = `${registries.large.host}/team/model:latest`;
  const outcomes = await pullOnSmallDisk(name);
  for (const { trial, outcome, names } of outcomes) {
    expect(outcome, trial).toMatch(outcomeOnDisk[trial] ?? /never/u);
    expect(names).toEqual(outcome === "success" ? [name] : []);
  }
  expect(new Set(outcomes.map(({ trial }) => trial)).size).toBe(Object.keys(outcomeOnDisk).length);
  passed.faults += outcomes.length - 1;
  passed.controls += outcomes.length - 1;
});

test("every fault has a control that succeeds", () => {
  expect(passed.controls).toBe(passed.faults);
  recordFigure({
    claim: "store 3",
    text: `${passed.faults} faults ended in success or in a clear error, and ${passed.controls} pulls after or without them succeeded`,
    counted: { reached: Math.min(passed.faults, passed.controls), needed: neededCases },
  });
});

/**
 * Pulls while every response is malformed, then again into the same store with valid responses. If the fault is
 * transient, does the same with only the first response malformed. Returns the number of faulty pulls.
 */
async function tryPulls(registry: MalformedRegistry, malformed: MalformedResponse): Promise<number> {
  const valid = malformed.resource === "token" ? requireToken : undefined;
  registry.setOverride(malformFirst(malformed));
  await checkPull({
    host: registry.host,
    outcomes: malformed.outcomes,
    repair: () => registry.setOverride(valid),
  });
  if (malformed.isTransient !== true) return 1;
  registry.setOverride(malformFirst(malformed, 1));
  await checkPull({ host: registry.host, outcomes: ["success"], repair: () => registry.setOverride(valid) });
  return 2;
}

type FaultyPull = {
  readonly host: string;
  readonly outcomes: readonly PullOutcome[];
  readonly repair: () => void | Promise<void>;
};

async function checkPull({ host, outcomes, repair }: FaultyPull): Promise<"consistent"> {
  const path = newStore();
  const name = `${host}/team/model:latest`;
  {
    await using puller = await openPuller(path, faultLimits);
    const startedAt = performance.now();
    const outcome = await puller.pull(name);
    expect(outcomes).toContain(outcome);
    expect(performance.now() - startedAt).toBeLessThan(maxSeconds * 1000);
    expect(Object.keys(await readVerifiedStore(path))).toEqual(outcome === "success" ? [name] : []);
  }
  passed.faults += 1;
  await repair();
  await using puller = await openPuller(path, { blocksPerRange });
  expect(await puller.pull(name)).toBe("success");
  expect(Object.keys(await readVerifiedStore(path))).toEqual([name]);
  passed.controls += 1;
  await rm(path, { recursive: true });
  return "consistent";
}

const outcomeOnDisk: Readonly<Record<string, RegExp>> = {
  "a disk that is too small": /^store-full$/u,
  "a disk that another program fills": /^store-full$/u,
  "a disk that fails": /^(?:store-io-error|success)$/u,
  "a disk with enough space": /^success$/u,
};

/** In a mount namespace of its own, so that nothing stays mounted however the test ends. */
async function pullOnSmallDisk(name: string): Promise<readonly DiskOutcome[]> {
  const disk = newStore();
  await mkdir(disk);
  const rights = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const script = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"';
  const args = [process.execPath, diskProgram, disk, name, String(ballastBytes)];
  const { stdout } = await promisify(execFile)(
    "unshare",
    [...rights, "--mount", "sh", "-c", script, "sh", String(diskBytes), disk, ...args],
    { timeout: maxSeconds * 1000 },
  );
  return stdout.trim().split("\n").map(readOutcome);
}

function readOutcome(line: string): DiskOutcome {
  // Written by our own program.
  return JSON.parse(line) as DiskOutcome;
}

function resolveWhenStarted(progress: TransferProgress, resolve: () => void): void {
  if (progress.step === "transferring-layer" && (progress.completedBytes ?? 0) > partOfModel(0.12)) resolve();
}

function partOfModel(fraction: number): number {
  return Math.round(large.length * fraction);
}

function newStore(): string {
  stores += 1;
  return lastStore();
}

function lastStore(): string {
  return join(folder.path, `store-${stores}`);
}
