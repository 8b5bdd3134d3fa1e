import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import {
  type Fault,
  makeTemporaryFolder,
  startFaultProxy,
  type TemporaryFolder,
} from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { digestOf } from "../store/digest.ts";
import { type LyingRegistry, manifestOf, startLyingRegistry } from "../test/malformed-registry.ts";
import {
  bodyLies,
  demandToken,
  type Ending,
  lieAbout,
  manifestLies,
  type RegistryLie,
  weightsLies,
} from "../test/malformed-registry-responses.ts";
import type { DiskOutcome } from "../test/pull-on-small-disk.ts";
import { openPuller } from "../test/puller.ts";
import { readSoundStore, refuseDamagedBlobs } from "../test/sound-store.ts";
import { writeRandomModel } from "../test/stocked-registry.ts";
import type { TransferProgress } from "./transfer.ts";

/** Two ranges and a bit. */
const large = writeRandomModel(34_000_000);
const small = writeRandomModel(4096);
const mostSeconds = 60;
/** Room for the model and a little more. */
const diskBytes = 44_000_000;
const ballastBytes = 30_000_000;
const diskProgram = fileURLToPath(new URL("../test/pull-on-small-disk.ts", import.meta.url));
const slow = { kind: "throttle", bytesPerSecond: 2_000_000 } as const;
const neededCases = 100;

type Registries = { readonly large: LyingRegistry; readonly small: LyingRegistry };
let registries: Registries;
let folder: TemporaryFolder;
let stores = 0;
const passed = { faults: 0, twins: 0 };

beforeAll(async () => {
  folder = await makeTemporaryFolder("faulty-registry");
  registries = {
    large: await startLyingRegistry({ weights: large }),
    small: await startLyingRegistry({ weights: small }),
  };
});
afterAll(async () => {
  await registries.large[Symbol.asyncDispose]();
  await registries.small[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

describe("a registry that lies about the weights", () => {
  const lies = Object.entries({ ...bodyLies("weights"), ...weightsLies });
  test.each(lies)(
    "%s",
    async (_name, lie) => expect(await tryLie(registries.large, lie)).toBe(lie.passes === true ? 2 : 1),
    mostSeconds * 3000,
  );
});

describe("a registry that lies about the manifest", () => {
  const lies = Object.entries({ ...bodyLies("manifest"), ...manifestLies(manifestOf({ weights: small })) });
  test.each(lies)(
    "%s",
    async (_name, lie) => expect(await tryLie(registries.small, lie)).toBe(lie.passes === true ? 2 : 1),
    mostSeconds * 3000,
  );
});

describe("a registry that lies about the configuration", () => {
  test.each(Object.entries(bodyLies("config")))(
    "%s",
    async (_name, lie) => expect(await tryLie(registries.small, lie)).toBe(lie.passes === true ? 2 : 1),
    mostSeconds * 3000,
  );
});

describe("a registry whose token server lies", () => {
  test.each(Object.entries(bodyLies("token")))(
    "%s",
    async (_name, lie) => expect(await tryLie(registries.small, lie)).toBe(lie.passes === true ? 2 : 1),
    mostSeconds * 3000,
  );
});

describe("a registry whose words do not fit together", () => {
  test("a manifest that is not the one that the name's digest asks for", async () => {
    const { host } = registries.small;
    const digest = digestOf(JSON.stringify(manifestOf({ weights: small })));
    registries.small.setLie(undefined);
    await using puller = await openPuller(newStore());
    expect(await puller.pull(`${host}/team/model@sha256:${"0".repeat(64)}`)).toBe("transfer-damaged");
    expect(await readSoundStore(lastStore())).toEqual({});
    expect(await puller.pull(`${host}/team/model@${digest}`)).toBe("success");
    expect(Object.values(await readSoundStore(lastStore()))).toEqual([digest]);
    passed.faults += 1;
    passed.twins += 1;
  });

  test.each([
    [
      "a configuration that is no JSON",
      { weights: small, config: Buffer.from("<html>") },
      "manifest-invalid",
    ],
    ["weights that are no model", { weights: Buffer.alloc(5000, 7) }, "model-file-invalid"],
  ])("%s", async (_name, model, ending) => {
    await using registry = await startLyingRegistry(model);
    await using puller = await openPuller(newStore());
    expect(await puller.pull(`${registry.host}/team/model`)).toBe(ending);
    expect(await readSoundStore(lastStore())).toEqual({});
    expect(await refuseDamagedBlobs(lastStore())).toBe(0);
    registries.small.setLie(undefined);
    expect(await puller.pull(`${registries.small.host}/team/model`)).toBe("success");
    passed.faults += 1;
    passed.twins += 1;
  });
});

/** Every fault of the proxy; the first few bytes of a connection are the manifest's. */
const faults: readonly { readonly fault: Fault; readonly ends: readonly Ending[] }[] = [
  { fault: { kind: "refuse" }, ends: ["registry-unreachable"] },
  { fault: { kind: "delay", milliseconds: 200 }, ends: ["success"] },
  { fault: { kind: "throttle", bytesPerSecond: 20_000_000 }, ends: ["success"] },
  { fault: { kind: "throttle", bytesPerSecond: 100 }, ends: ["registry-unreachable"] },
  { fault: { kind: "stall", afterBytes: 0 }, ends: ["registry-unreachable"] },
  { fault: { kind: "stall", afterBytes: 3_000_000, times: 3 }, ends: ["success"] },
  { fault: { kind: "cut", afterBytes: 0, how: "reset" }, ends: ["registry-unreachable"] },
  { fault: { kind: "cut", afterBytes: 0, how: "close" }, ends: ["registry-unreachable"] },
  { fault: { kind: "cut", afterBytes: 5_000_000, how: "reset" }, ends: ["success"] },
  { fault: { kind: "cut", afterBytes: 5_000_000, how: "close" }, ends: ["success"] },
  { fault: { kind: "truncate", bodyBytes: 1_500_000 }, ends: ["success"] },
  { fault: { kind: "truncate", bodyBytes: 1000 }, ends: ["registry-unreachable"] },
  { fault: { kind: "flip-bit", bodyByte: 1_000_000 }, ends: ["transfer-damaged"] },
  { fault: { kind: "flip-bit", bodyByte: 1_000_000, times: 1 }, ends: ["success"] },
  {
    fault: { kind: "lie-about-length", addBytes: 1000 },
    ends: ["registry-answer-invalid", "registry-unreachable"],
  },
  {
    fault: { kind: "lie-about-length", addBytes: -10 },
    ends: ["registry-answer-invalid", "registry-unreachable"],
  },
  { fault: { kind: "lie-about-length", addBytes: 1000, times: 1 }, ends: ["success"] },
];

describe("a connection that misbehaves", () => {
  test.each(faults.map((each) => [JSON.stringify(each.fault), each] as const))(
    "%s",
    async (_name, { fault, ends }) => {
      registries.large.setLie(undefined);
      await using proxy = await startFaultProxy({ target: registries.large.url, faults: [fault] });
      const mend = (): Promise<void> => proxy.setFaults([]);
      expect(await judgePull({ host: `127.0.0.1:${proxy.port}`, ends, mend })).toBe("sound");
    },
    mostSeconds * 3000,
  );
});

describe("several listeners", () => {
  test("two pulls of one digest at once are one download", async () => {
    await using puller = await openPuller(newStore());
    registries.large.setLie(undefined);
    const names = ["one", "two"].map((model) => `${registries.large.host}/team/${model}:latest`);
    expect(await Promise.all(names.map((name) => puller.pull(name)))).toEqual(["success", "success"]);
    expect(registries.large.counts().weightsBytes).toBe(large.length);
    expect(Object.keys(await readSoundStore(lastStore()))).toEqual(names);
    passed.faults += 1;
    passed.twins += 1;
  });

  test("one that leaves takes nothing from the other; with the last one the download ends, and is gone on with", async () => {
    await using proxy = await startFaultProxy({ target: registries.large.url, faults: [slow] });
    await using puller = await openPuller(newStore());
    registries.large.setLie(undefined);
    const name = `127.0.0.1:${proxy.port}/team/model:latest`;
    const [first, second] = [new AbortController(), new AbortController()];
    const started = Promise.withResolvers<void>();
    const one = puller.pull(name, { signal: first.signal }).catch(() => "left");
    const other = puller
      .pull(name, { signal: second.signal, onProgress: (progress) => noteFar(progress, started.resolve) })
      .catch(() => "left");
    await sleep(100);
    first.abort();
    expect(await one).toBe("left");
    await started.promise;
    second.abort();
    expect(await other).toBe("left");
    await sleep(300);
    const sent = proxy.counts().bytesToClient;
    await sleep(300);
    expect(proxy.counts()).toMatchObject({ bytesToClient: sent });
    expect(await readSoundStore(lastStore())).toEqual({});
    await proxy.setFaults([]);
    expect(await puller.pull(name)).toBe("success");
    expect(proxy.counts().bytesToClient).toBeLessThan(large.length + 16 * 1024 * 1024);
    expect(Object.keys(await readSoundStore(lastStore()))).toEqual([name]);
    passed.faults += 2;
    passed.twins += 2;
  });
});

test("a disk that is full, becomes full or fails costs the pull, and nothing else", async () => {
  registries.large.setLie(undefined);
  const name = `${registries.large.host}/team/model:latest`;
  const outcomes = await pullOnSmallDisk(name);
  for (const { trial, ending, names } of outcomes) {
    expect(ending, trial).toMatch(endingOnDisk[trial] ?? /never/u);
    expect(names).toEqual(ending === "success" ? [name] : []);
  }
  expect(new Set(outcomes.map(({ trial }) => trial)).size).toBe(Object.keys(endingOnDisk).length);
  passed.faults += outcomes.length - 1;
  passed.twins += outcomes.length - 1;
});

test("every fault had its twin", () => {
  expect(passed.twins).toBe(passed.faults);
  recordFigure({
    claim: "store 3",
    text: `${passed.faults} faults ended in success or in a clear error, and ${passed.twins} pulls after them or without them succeeded`,
    counted: { reached: Math.min(passed.faults, passed.twins), needed: neededCases },
  });
});

/**
 * Told always it ends well, and once it is over the same store takes the model; told once it may cost nothing.
 * Says how many pulls were tried.
 */
async function tryLie(registry: LyingRegistry, lie: RegistryLie): Promise<number> {
  const honest = lie.part === "token" ? demandToken : undefined;
  registry.setLie(lieAbout(lie));
  await judgePull({ host: registry.host, ends: lie.ends, mend: () => registry.setLie(honest) });
  if (lie.passes !== true) return 1;
  registry.setLie(lieAbout(lie, 1));
  await judgePull({ host: registry.host, ends: ["success"], mend: () => registry.setLie(honest) });
  return 2;
}

type Trial = {
  readonly host: string;
  readonly ends: readonly Ending[];
  readonly mend: () => void | Promise<void>;
};

async function judgePull({ host, ends, mend }: Trial): Promise<"sound"> {
  const path = newStore();
  const name = `${host}/team/model:latest`;
  {
    await using puller = await openPuller(path);
    const startedAt = performance.now();
    const ending = await puller.pull(name);
    expect(ends).toContain(ending);
    expect(performance.now() - startedAt).toBeLessThan(mostSeconds * 1000);
    expect(Object.keys(await readSoundStore(path))).toEqual(ending === "success" ? [name] : []);
  }
  passed.faults += 1;
  await mend();
  await using puller = await openPuller(path);
  expect(await puller.pull(name)).toBe("success");
  expect(Object.keys(await readSoundStore(path))).toEqual([name]);
  passed.twins += 1;
  return "sound";
}

const endingOnDisk: Readonly<Record<string, RegExp>> = {
  "a disk that is too small": /^store-full$/u,
  "a disk that another program fills": /^store-full$/u,
  "a disk that fails": /^(?:store-failing|success)$/u,
  "a disk with room": /^success$/u,
};

/** On a disk of its own in a namespace of its own, so that nothing is left mounted however the test ends. */
async function pullOnSmallDisk(name: string): Promise<readonly DiskOutcome[]> {
  const disk = newStore();
  await mkdir(disk);
  const rights = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const script = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"';
  const words = [process.execPath, diskProgram, disk, name, String(ballastBytes)];
  const { stdout } = await promisify(execFile)(
    "unshare",
    [...rights, "--mount", "sh", "-c", script, "sh", String(diskBytes), disk, ...words],
    { timeout: mostSeconds * 1000 },
  );
  return stdout.trim().split("\n").map(readOutcome);
}

function readOutcome(line: string): DiskOutcome {
  // Written by our own program.
  return JSON.parse(line) as DiskOutcome;
}

function noteFar(progress: TransferProgress, note: () => void): void {
  if (progress.step === "moving-layer" && (progress.completedBytes ?? 0) > 4_000_000) note();
}

function newStore(): string {
  stores += 1;
  return lastStore();
}

function lastStore(): string {
  return join(folder.path, `store-${stores}`);
}
