import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder, startModelHub } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { digestPath } from "../store/blob-store.ts";
import { digestOf } from "../store/digest.ts";
import { openModelStore } from "../store/model-store.ts";
import {
  type ByteRange,
  type Lie,
  type LyingRegistry,
  manifestOf,
  startLyingRegistry,
} from "../test/malformed-registry.ts";
import { openPuller } from "../test/puller.ts";
import { writeRandomModel } from "../test/stocked-registry.ts";
import { openPartialFile, pieceBytes } from "./partial-file.ts";
import type { TransferProgress } from "./transfer.ts";

/** Five ranges and a bit. */
const weights = writeRandomModel(85_000_000);
const digest = digestOf(weights);
const manifest = JSON.stringify(manifestOf({ weights }));
let registry: LyingRegistry;
beforeAll(async () => void (registry = await startLyingRegistry({ weights })));
afterAll(() => registry[Symbol.asyncDispose]());

type Pulling = { readonly lie?: Lie; readonly leaveAfterBytes?: number; readonly suffix?: string };

async function pullInto(folder: string, { lie, leaveAfterBytes, suffix = "" }: Pulling = {}) {
  registry.setLie(lie);
  await using puller = await openPuller(folder);
  const leaving = new AbortController();
  const steps: TransferProgress[] = [];
  const ending = await puller
    .pull(`${registry.host}/team/model${suffix}`, {
      signal: leaving.signal,
      onProgress: (progress) => {
        steps.push(progress);
        const isFar =
          "completedBytes" in progress && (progress.completedBytes ?? 0) > (leaveAfterBytes ?? Infinity);
        if (isFar) leaving.abort();
      },
    })
    .catch((problem: unknown) => String(problem));
  return { ending, steps, fetchedBytes: registry.counts().weightsBytes };
}

async function blobIn(folder: string): Promise<Buffer> {
  return readFile(digestPath(folder, "blobs", digest));
}

test("the steps come in order, each layer's from nothing to all of it, and nothing unfinished is left", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const { ending, steps } = await pullInto(folder.path);
  expect(ending).toBe("success");
  const order = steps.map(({ step }) => step).filter((step, index, all) => step !== all[index - 1]);
  expect(order).toEqual(["reading-manifest", "moving-layer", "verifying", "writing-manifest"]);
  const ofWeights = steps.filter((step) => "digest" in step && step.digest === digest);
  expect(ofWeights[0]).toEqual({ step: "moving-layer", digest, totalBytes: weights.length });
  expect(ofWeights.at(-1)).toMatchObject({ completedBytes: weights.length });
  expect((await blobIn(folder.path)).equals(weights)).toBe(true);
  expect(await readdir(join(folder.path, "partial"))).toEqual([]);
});

test("a pull that was left is gone on with, and only what had not arrived is fetched", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const { ending } = await pullInto(folder.path, { lie: slowly, leaveAfterBytes: 20_000_000 });
  expect(ending).toMatch(/abort/iu);
  const kept = await piecesKept(folder.path);
  // Each of the four connections may have had a piece in its hands.
  expect(kept.length * pieceBytes).toBeGreaterThan(20_000_000 - 4 * pieceBytes);
  const asked: ByteRange[] = [];
  const note: Lie = ({ part, range }) => {
    if (part === "weights" && range !== undefined) asked.push(range);
    return false;
  };
  expect((await pullInto(folder.path, { lie: note })).ending).toBe("success");
  const isAsked = (byte: number): boolean => asked.some(({ first, last }) => first <= byte && byte <= last);
  expect(kept.filter((piece) => isAsked(piece * pieceBytes))).toEqual([]);
  expect((await blobIn(folder.path)).equals(weights)).toBe(true);
});

async function piecesKept(folder: string): Promise<readonly number[]> {
  const store = await openModelStore(folder, "own");
  await using file = await openPartialFile(store, { digest, size: weights.length });
  return Array.from({ length: file.pieceCount }, (_none, piece) => piece).filter((piece) => file.has(piece));
}

test("a server that gives no ranges is asked once for everything", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const { ending, fetchedBytes } = await pullInto(folder.path, { lie: withoutRanges });
  expect(ending).toBe("success");
  expect(fetchedBytes).toBeLessThan(weights.length * 2.1);
});

test("a second pull fetches nothing, and hashes what another program left before it counts on it", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const path = digestPath(folder.path, "blobs", digest);
  await mkdir(join(folder.path, "blobs"), { recursive: true });
  await writeFile(path, weights);
  expect(await pullInto(folder.path)).toMatchObject({ ending: "success", fetchedBytes: 0 });
  const damaged = Buffer.from(weights);
  damaged.write("damaged", 50_000_000);
  await writeFile(path, damaged);
  const repaired = await pullInto(folder.path);
  expect(repaired.ending).toBe("success");
  expect(repaired.fetchedBytes).toBeGreaterThanOrEqual(weights.length);
  expect((await blobIn(folder.path)).equals(weights)).toBe(true);
});

test("a name with a digest means that manifest and no other", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const right = await pullInto(folder.path, { suffix: `@${digestOf(manifest)}` });
  expect(right.ending).toBe("success");
  const wrong = await pullInto(folder.path, { suffix: `:other@${digestOf("other")}` });
  expect(wrong.ending).toBe("transfer-damaged");
  expect(await readdir(join(folder.path, "manifests", registry.host, "team", "model"))).toEqual(["latest"]);
});

test("a list of one manifest is followed, and a list of several is refused", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const listed = { digest: digestOf(manifest), size: manifest.length, mediaType: "x" };
  expect((await pullInto(folder.path, { lie: list([listed]) })).ending).toBe("success");
  expect((await pullInto(folder.path, { lie: list([listed, listed]) })).ending).toBe(
    "registry-answer-invalid",
  );
});

test("a model that is larger than the disk is refused before the first byte of it", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const huge = manifest.replace(`"size":${weights.length}`, `"size":${2 ** 49}`);
  const lie: Lie = ({ part, response }) => (part === "manifest" ? (response.end(huge), true) : false);
  expect(await pullInto(folder.path, { lie })).toMatchObject({ ending: "store-full", fetchedBytes: 0 });
});

test("a file that the gate refuses gets no name and does not stay", async () => {
  await using folder = await makeTemporaryFolder("pull");
  await using broken = await startLyingRegistry({ weights: Buffer.from("no model at all") });
  await using puller = await openPuller(folder.path);
  expect(await puller.pull(`${broken.host}/team/model`)).toBe("model-file-invalid");
  expect([await readdir(join(folder.path, "blobs")), await readdir(join(folder.path, "manifests"))]).toEqual([
    [],
    [],
  ]);
});

test.for([
  ["a name that is none", "a b", "name-invalid"],
  ["a model on its maker's machines", "big:cloud", "model-remote"],
] as const)("%s is refused without asking anybody", async ([, name, ending]) => {
  await using folder = await makeTemporaryFolder("pull");
  await using puller = await openPuller(folder.path);
  expect(await puller.pull(name)).toBe(ending);
});

test("a link to storage that ran out half way is asked for again", async () => {
  await using folder = await makeTemporaryFolder("pull");
  await using hub = await startModelHub([{ name: "team/model", files: { "model-Q8_0.gguf": weights } }]);
  const host = new URL(hub.url).host;
  await using puller = await openPuller(folder.path);
  let isLate = false;
  const onProgress = (progress: TransferProgress): void => {
    if (isLate || !("completedBytes" in progress) || (progress.completedBytes ?? 0) < 20_000_000) return;
    isLate = true;
    hub.passTime(7200);
  };
  hub.redirectTo(hub.contentUrl.replace("localhost", "127.0.0.1"));
  expect(await puller.pull(`${host}/team/model:Q8_0`, { onProgress })).toBe("success");
  const asked = hub.requests().filter(({ server, path }) => server === "hub" && path.includes(digest));
  expect(isLate ? asked.length : 2).toBeGreaterThanOrEqual(2);
});

test("an unfinished download outlives a restart for a week, and other unfinished files an hour", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const [download, other] = [
    digestPath(folder.path, "partial", digest),
    join(folder.path, "partial", "other"),
  ];
  const hoursAgo = async (hours: number) => {
    for (const path of [download, `${download}.journal`, other]) {
      await writeFile(path, "");
      await utimes(path, Date.now() / 1000 - hours * 3600, Date.now() / 1000 - hours * 3600);
    }
    await openModelStore(folder.path, "own");
    return (await readdir(join(folder.path, "partial"))).length;
  };
  await openModelStore(folder.path, "own");
  expect(await hoursAgo(0.5)).toBe(3);
  expect(await hoursAgo(6 * 24)).toBe(2);
  expect(await hoursAgo(8 * 24)).toBe(0);
});

function list(manifests: readonly object[]): Lie {
  return ({ part, request, response }) => {
    if (part !== "manifest" || request.url?.includes("sha256:") === true) return false;
    response.end(JSON.stringify({ schemaVersion: 2, manifests }));
    return true;
  };
}

/** Small bites, so that there is time to leave. */
const slowly: Lie = async ({ part, response, content, range }) => {
  if (part !== "weights") return false;
  const body = range === undefined ? content : content.subarray(range.first, range.last + 1);
  const first = range?.first ?? 0;
  response.writeHead(206, {
    "content-length": body.length,
    "content-range": `bytes ${first}-${first + body.length - 1}/${content.length}`,
  });
  for (let offset = 0; offset < body.length && !response.destroyed; offset += 500_000) {
    response.write(body.subarray(offset, offset + 500_000));
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  response.end();
  return true;
};

const withoutRanges: Lie = ({ part, response, content }) => {
  if (part !== "weights") return false;
  response.writeHead(200, { "content-length": content.length }).end(content);
  return true;
};
