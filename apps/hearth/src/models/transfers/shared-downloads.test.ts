import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { digestOf } from "../store/digest.ts";
import { createSharedDownloads, type StartDownload } from "./shared-downloads.ts";

const blob = { digest: digestOf("x"), size: 100 };
const { signal: neverAborted } = new AbortController();

/** A fake download that runs until the test finishes it, and counts its starts and aborts. */
function createFakeDownload() {
  const completion = Promise.withResolvers<void>();
  const counts = { started: 0, aborted: 0 };
  const start: StartDownload = async ({ signal, onProgress }) => {
    counts.started += 1;
    onProgress(50);
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => {
      counts.aborted += 1;
      // Closing files takes a moment.
      setTimeout(() => reject(signal.reason), 30);
    };
    signal.addEventListener("abort", onAbort);
    await Promise.race([promise, completion.promise]).finally(() =>
      signal.removeEventListener("abort", onAbort),
    );
  };
  return {
    start,
    counts,
    finish: () => completion.resolve(),
    fail: (error: Error) => completion.reject(error),
  };
}

async function collect(progress: AsyncIterable<number>): Promise<readonly number[]> {
  const seen: number[] = [];
  for await (const completed of progress) seen.push(completed);
  return seen;
}

test("subscribers share one download and all receive its progress", async () => {
  const downloads = createSharedDownloads();
  const { start, counts, finish } = createFakeDownload();
  const subscribers = [1, 2, 3].map(() => collect(downloads.join(blob, start, neverAborted)));
  await sleep(150);
  finish();
  expect(await Promise.all(subscribers)).toEqual([[50], [50], [50]]);
  expect(counts).toEqual({ started: 1, aborted: 0 });
});

test("the first progress is what earlier attempts left, and nothing is sent before that is known", async () => {
  const downloads = createSharedDownloads();
  const { promise, resolve } = Promise.withResolvers<void>();
  const progress = downloads.join(
    blob,
    async ({ onProgress }) => {
      await sleep(150);
      onProgress(40);
      onProgress(45);
      await promise;
    },
    neverAborted,
  );
  const seen: number[] = [];
  const reading = (async () => {
    for await (const completedBytes of progress) seen.push(completedBytes);
  })();
  await expect.poll(() => seen).toEqual([40, 45]);
  resolve();
  await reading;
  expect(seen).toEqual([40, 45]);
});

test("only the last subscriber to leave aborts the download", async () => {
  const downloads = createSharedDownloads();
  const { start, counts } = createFakeDownload();
  const [first, second] = [new AbortController(), new AbortController()];
  const subscribers = [first, second].map(({ signal }) => collect(downloads.join(blob, start, signal)));
  const outcomes = Promise.allSettled(subscribers);
  await sleep(20);
  first.abort();
  await sleep(20);
  expect(counts.aborted).toBe(0);
  second.abort();
  expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(counts.aborted).toBe(1);
});

test("joining an aborted download starts a new one", async () => {
  const downloads = createSharedDownloads();
  const [old, fresh] = [createFakeDownload(), createFakeDownload()];
  const controller = new AbortController();
  const left = collect(downloads.join(blob, old.start, controller.signal)).catch(() => "aborted");
  await sleep(20);
  controller.abort();
  expect(await left).toBe("aborted");
  const next = collect(downloads.join(blob, fresh.start, neverAborted));
  expect([old.counts.aborted, fresh.counts.started]).toEqual([1, 0]);
  fresh.finish();
  await next;
  expect(fresh.counts.started).toBe(1);
});

test("when a joined download fails, the subscriber starts its own", async () => {
  const downloads = createSharedDownloads();
  const [bad, good] = [createFakeDownload(), createFakeDownload()];
  const first = collect(downloads.join(blob, bad.start, neverAborted));
  const second = collect(downloads.join(blob, good.start, neverAborted));
  await sleep(20);
  bad.fail(new Error("bad registry"));
  good.finish();
  await expect(first).rejects.toThrow("bad registry");
  await second;
  expect(good.counts.started).toBe(1);
});

test("a download with another size is awaited and not joined", async () => {
  const downloads = createSharedDownloads();
  const [wrongSize, rightSize] = [createFakeDownload(), createFakeDownload()];
  const first = collect(downloads.join({ ...blob, size: 5 }, wrongSize.start, neverAborted));
  const second = collect(downloads.join(blob, rightSize.start, neverAborted));
  await sleep(20);
  expect(rightSize.counts.started).toBe(0);
  wrongSize.finish();
  rightSize.finish();
  await Promise.all([first, second]);
  expect(rightSize.counts.started).toBe(1);
});
