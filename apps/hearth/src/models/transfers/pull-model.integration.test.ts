import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder, startModelHub } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { digestPath } from "../store/blob-store.ts";
import { digestOf } from "../store/digest.ts";
import { openModelStore } from "../store/model-store.ts";
import {
  type ByteRange,
  type MalformedRegistry,
  manifestOf,
  type ResponseOverride,
  startMalformedRegistry,
} from "../test/malformed-registry.ts";
import { openPuller } from "../test/puller.ts";
import { writeRandomModel } from "../test/seeded-registry.ts";
import { blockBytes, openPartialFile } from "./partial-file.ts";
import type { TransferProgress } from "./transfer.ts";

/** Slightly more than five ranges. */
const weights = writeRandomModel(85_000_000);
const digest = digestOf(weights);
const manifest = JSON.stringify(manifestOf({ weights }));
let registry: MalformedRegistry;
beforeAll(async () => void (registry = await startMalformedRegistry({ weights })));
afterAll(() => registry[Symbol.asyncDispose]());

type PullOptions = {
  readonly override?: ResponseOverride;
  readonly abortAfterBytes?: number;
  readonly suffix?: string;
};

async function pullInto(folder: string, { override, abortAfterBytes, suffix = "" }: PullOptions = {}) {
  registry.setOverride(override);
  await using puller = await openPuller(folder);
  const controller = new AbortController();
  const steps: TransferProgress[] = [];
  const outcome = await puller
    .pull(`${registry.host}/team/model${suffix}`, {
      signal: controller.signal,
      onProgress: (progress) => {
        steps.push(progress);
        const isReached =
          "completedBytes" in progress && (progress.completedBytes ?? 0) > (abortAfterBytes ?? Infinity);
        if (isReached) controller.abort();
      },
    })
    .catch((error: unknown) => String(error));
  return { outcome, steps, fetchedBytes: registry.counts().weightsBytes };
}

async function blobIn(folder: string): Promise<Buffer> {
  return readFile(digestPath(folder, "blobs", digest));
}

test("steps are reported in order, layers up to completion, and no unfinished file is left", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const { outcome, steps } = await pullInto(folder.path);
  expect(outcome).toBe("success");
  const order = steps.map(({ step }) => step).filter((step, index, all) => step !== all[index - 1]);
  expect(order).toEqual(["reading-manifest", "transferring-layer", "verifying", "writing-manifest"]);
  const ofWeights = steps.filter((step) => "digest" in step && step.digest === digest);
  expect(ofWeights[0]).toEqual({ step: "transferring-layer", digest, totalBytes: weights.length });
  expect(ofWeights.at(-1)).toMatchObject({ completedBytes: weights.length });
  expect((await blobIn(folder.path)).equals(weights)).toBe(true);
  expect(await readdir(join(folder.path, "partial"))).toEqual([]);
});

test("an aborted pull resumes and fetches only the missing blocks", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const { outcome } = await pullInto(folder.path, { override: sendSlowly, abortAfterBytes: 20_000_000 });
  expect(outcome).toMatch(/abort/iu);
  // The pull rejects before its file is closed, and until then another reader gets a new one. Each of the four
  // connections may have had an incomplete block.
  await expect
    .poll(async () => (await storedBlocks(folder.path)).length * blockBytes)
    .toBeGreaterThan(20_000_000 - 4 * blockBytes);
  const kept = await storedBlocks(folder.path);
  const requested: ByteRange[] = [];
  const recordRange: ResponseOverride = ({ resource, range }) => {
    if (resource === "weights" && range !== undefined) requested.push(range);
    return false;
  };
  expect((await pullInto(folder.path, { override: recordRange })).outcome).toBe("success");
  const isRequested = (byte: number): boolean =>
    requested.some(({ first, last }) => first <= byte && byte <= last);
  expect(kept.filter((block) => isRequested(block * blockBytes))).toEqual([]);
  expect((await blobIn(folder.path)).equals(weights)).toBe(true);
});

async function storedBlocks(folder: string): Promise<readonly number[]> {
  const store = await openModelStore(folder, "own");
  await using file = await openPartialFile(store, { digest, size: weights.length });
  return Array.from({ length: file.blockCount }, (_none, block) => block).filter((block) => file.has(block));
}

test("a server without range support receives one request for the whole blob", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const { outcome, fetchedBytes } = await pullInto(folder.path, { override: withoutRanges });
  expect(outcome).toBe("success");
  expect(fetchedBytes).toBeLessThan(weights.length * 2.1);
});

test("a blob of another program is hashed and reused, and downloaded again when it is damaged", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const path = digestPath(folder.path, "blobs", digest);
  await mkdir(join(folder.path, "blobs"), { recursive: true });
  await writeFile(path, weights);
  expect(await pullInto(folder.path)).toMatchObject({ outcome: "success", fetchedBytes: 0 });
  const damaged = Buffer.from(weights);
  damaged.write("damaged", 50_000_000);
  await writeFile(path, damaged);
  const repaired = await pullInto(folder.path);
  expect(repaired.outcome).toBe("success");
  expect(repaired.fetchedBytes).toBeGreaterThanOrEqual(weights.length);
  expect((await blobIn(folder.path)).equals(weights)).toBe(true);
});

test("a name with a digest only accepts that manifest", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const right = await pullInto(folder.path, { suffix: `@${digestOf(manifest)}` });
  expect(right.outcome).toBe("success");
  const wrong = await pullInto(folder.path, { suffix: `:other@${digestOf("other")}` });
  expect(wrong.outcome).toBe("transfer-corrupted");
  expect(await readdir(join(folder.path, "manifests", registry.host, "team", "model"))).toEqual(["latest"]);
});

test("an image index with one manifest is followed, and one with several is rejected", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const listed = { digest: digestOf(manifest), size: manifest.length, mediaType: "x" };
  expect((await pullInto(folder.path, { override: sendIndex([listed]) })).outcome).toBe("success");
  expect((await pullInto(folder.path, { override: sendIndex([listed, listed]) })).outcome).toBe(
    "registry-response-invalid",
  );
});

test("a model that is larger than the disk is rejected before downloading", async () => {
  await using folder = await makeTemporaryFolder("pull");
  const huge = manifest.replace(`"size":${weights.length}`, `"size":${2 ** 49}`);
  const override: ResponseOverride = ({ resource, response }) =>
    resource === "manifest" ? (response.end(huge), true) : false;
  expect(await pullInto(folder.path, { override })).toMatchObject({ outcome: "store-full", fetchedBytes: 0 });
});

test("an invalid model file gets no name and is removed", async () => {
  await using folder = await makeTemporaryFolder("pull");
  await using broken = await startMalformedRegistry({ weights: Buffer.from("not a model") });
  await using puller = await openPuller(folder.path);
  expect(await puller.pull(`${broken.host}/team/model`)).toBe("model-file-invalid");
  expect([await readdir(join(folder.path, "blobs")), await readdir(join(folder.path, "manifests"))]).toEqual([
    [],
    [],
  ]);
});

test.for([
  ["an invalid name", "a b", "name-invalid"],
  ["a cloud model", "big:cloud", "model-remote"],
] as const)("%s is rejected without a request", async ([, name, outcome]) => {
  await using folder = await makeTemporaryFolder("pull");
  await using puller = await openPuller(folder.path);
  expect(await puller.pull(name)).toBe(outcome);
});

test("an expired storage link is requested again", async () => {
  await using folder = await makeTemporaryFolder("pull");
  await using hub = await startModelHub([{ name: "team/model", files: { "model-Q8_0.gguf": weights } }]);
  const host = new URL(hub.url).host;
  await using puller = await openPuller(folder.path);
  let isExpired = false;
  const onProgress = (progress: TransferProgress): void => {
    if (isExpired || !("completedBytes" in progress) || (progress.completedBytes ?? 0) < 20_000_000) return;
    isExpired = true;
    hub.passTime(7200);
  };
  hub.redirectTo(hub.contentUrl.replace("localhost", "127.0.0.1"));
  expect(await puller.pull(`${host}/team/model:Q8_0`, { onProgress })).toBe("success");
  const requests = hub.requests().filter(({ server, path }) => server === "hub" && path.includes(digest));
  expect(isExpired ? requests.length : 2).toBeGreaterThanOrEqual(2);
});

test("unfinished downloads survive a restart for a week, other temporary files for an hour", async () => {
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

function sendIndex(manifests: readonly object[]): ResponseOverride {
  return ({ resource, request, response }) => {
    if (resource !== "manifest" || request.url?.includes("sha256:") === true) return false;
    response.end(JSON.stringify({ schemaVersion: 2, manifests }));
    return true;
  };
}

/** Sends small chunks, so that there is time to abort. */
const sendSlowly: ResponseOverride = async ({ resource, response, content, range }) => {
  if (resource !== "weights") return false;
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

const withoutRanges: ResponseOverride = ({ resource, response, content }) => {
  if (resource !== "weights") return false;
  response.writeHead(200, { "content-length": content.length }).end(content);
  return true;
};
