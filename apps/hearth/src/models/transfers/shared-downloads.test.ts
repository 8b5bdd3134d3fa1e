import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { digestOf } from "../store/digest.ts";
import { createSharedDownloads, type StartDownload } from "./shared-downloads.ts";

const blob = { digest: digestOf("x"), size: 100 };
const stays = new AbortController().signal;

/** A download that goes on until it is told, and says how often it was started and ended early. */
function makeDownload() {
  const told = Promise.withResolvers<void>();
  const counts = { started: 0, ended: 0 };
  const start: StartDownload = async ({ signal, onProgress }) => {
    counts.started += 1;
    onProgress(50);
    const { promise, reject } = Promise.withResolvers<never>();
    const end = (): void => {
      counts.ended += 1;
      // Files are closed before it is over.
      setTimeout(() => reject(signal.reason), 30);
    };
    signal.addEventListener("abort", end);
    await Promise.race([promise, told.promise]).finally(() => signal.removeEventListener("abort", end));
  };
  return { start, counts, finish: () => told.resolve(), fail: (problem: Error) => told.reject(problem) };
}

async function collect(progress: AsyncIterable<number>): Promise<readonly number[]> {
  const seen: number[] = [];
  for await (const completed of progress) seen.push(completed);
  return seen;
}

test("many followers share one download and all hear of its progress", async () => {
  const downloads = createSharedDownloads();
  const { start, counts, finish } = makeDownload();
  const followers = [1, 2, 3].map(() => collect(downloads.follow(blob, start, stays)));
  await wait(150);
  finish();
  expect(await Promise.all(followers)).toEqual([[50], [50], [50]]);
  expect(counts).toEqual({ started: 1, ended: 0 });
});

test("whoever follows hears first what earlier attempts left, and nothing before that is known", async () => {
  const downloads = createSharedDownloads();
  const { promise, resolve } = Promise.withResolvers<void>();
  const seen = collect(
    downloads.follow(
      blob,
      async ({ onProgress }) => {
        await wait(150);
        onProgress(40);
        onProgress(45);
        await promise;
      },
      stays,
    ),
  );
  await wait(400);
  resolve();
  expect(await seen).toEqual([40, 45]);
});

test("a follower that leaves does not end it, and the last one does", async () => {
  const downloads = createSharedDownloads();
  const { start, counts } = makeDownload();
  const [first, second] = [new AbortController(), new AbortController()];
  const followers = [first, second].map(({ signal }) => collect(downloads.follow(blob, start, signal)));
  const ends = Promise.allSettled(followers);
  await wait(20);
  first.abort();
  await wait(20);
  expect(counts.ended).toBe(0);
  second.abort();
  expect((await ends).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(counts.ended).toBe(1);
});

test("whoever comes while the last one leaves begins anew", async () => {
  const downloads = createSharedDownloads();
  const [old, fresh] = [makeDownload(), makeDownload()];
  const leaving = new AbortController();
  const left = collect(downloads.follow(blob, old.start, leaving.signal)).catch(() => "left");
  await wait(20);
  leaving.abort();
  expect(await left).toBe("left");
  const next = collect(downloads.follow(blob, fresh.start, stays));
  expect([old.counts.ended, fresh.counts.started]).toEqual([1, 0]);
  fresh.finish();
  await next;
  expect(fresh.counts.started).toBe(1);
});

test("when the registry of the first fails, the second tries its own", async () => {
  const downloads = createSharedDownloads();
  const [bad, good] = [makeDownload(), makeDownload()];
  const first = collect(downloads.follow(blob, bad.start, stays));
  const second = collect(downloads.follow(blob, good.start, stays));
  await wait(20);
  bad.fail(new Error("bad registry"));
  good.finish();
  await expect(first).rejects.toThrow("bad registry");
  await second;
  expect(good.counts.started).toBe(1);
});

test("a download of another size is waited for and not joined", async () => {
  const downloads = createSharedDownloads();
  const [lying, honest] = [makeDownload(), makeDownload()];
  const first = collect(downloads.follow({ ...blob, size: 5 }, lying.start, stays));
  const second = collect(downloads.follow(blob, honest.start, stays));
  await wait(20);
  expect(honest.counts.started).toBe(0);
  lying.finish();
  honest.finish();
  await Promise.all([first, second]);
  expect(honest.counts.started).toBe(1);
});
