import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { afterAll, expect, test } from "vitest";
import type { PdfFailure } from "./pdf-failure.ts";
import { createPdfReader } from "./pdf-reader.ts";
import { createHostilePdfs, type HostilePdf } from "./test/hostile-pdfs.ts";
import { textDocument } from "./test/write-pdf.ts";

/** In CI every kind once. */
const count = chooseSize({ ci: 23, show: 300, nightly: 300 });
const seconds = chooseSize({ ci: 2, show: 5, nightly: 20 });
/** The process is started before and has exited after the time limit; both take longer on a busy machine. */
const settleSeconds = seconds + 10;
const maxGrowthBytes = 128 * 1024 ** 2;
const hostilePerGood = 8;
const reader = createPdfReader({ limits: { seconds } });
const goodReader = createPdfReader();
const { signal } = new AbortController();
const good = textDocument(["A good document"], ["of two pages"]);

afterAll(() => Promise.all([reader.close(), goodReader.close()]));

const failureKinds: ReadonlySet<string> = new Set<PdfFailure["kind"]>([
  "pdf-invalid",
  "pdf-encrypted",
  "pdf-without-text",
  "pdf-too-many-pages",
  "pdf-timed-out",
  "pdf-out-of-memory",
  "pdf-reader-crashed",
]);

type Result = {
  readonly description: string;
  readonly kind: string;
  readonly seconds: number;
  readonly growthBytes: number;
};

async function readHostile({ description, bytes }: HostilePdf): Promise<Result> {
  const before = usedBytes();
  const start = performance.now();
  const kind = await reader.read(bytes, signal).then(
    () => "text",
    (error: { readonly failure?: PdfFailure }) => error.failure?.kind ?? "another error",
  );
  const elapsed = (performance.now() - start) / 1000;
  return { description, kind, seconds: elapsed, growthBytes: usedBytes() - before };
}

function usedBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

test("hostile PDFs end as text or a failure within the time limit, and good ones are read meanwhile", async () => {
  const results: Result[] = [];
  const goodTexts: string[] = [];
  const documents = createHostilePdfs(count);
  const readSome = async (): Promise<void> => {
    for (const document of documents) {
      results.push(await readHostile(document));
      if (results.length % hostilePerGood === 0) goodTexts.push(await goodReader.read(good, signal));
    }
  };
  await Promise.all([readSome(), readSome()]);
  expect(results.filter(({ kind }) => kind !== "text" && !failureKinds.has(kind))).toEqual([]);
  expect(results.filter((result) => result.seconds > settleSeconds)).toEqual([]);
  expect(results.filter(({ growthBytes }) => growthBytes > maxGrowthBytes)).toEqual([]);
  expect(results).toHaveLength(count);
  expect(new Set(goodTexts)).toEqual(new Set(["A good document\fof two pages"]));
  const kinds = Object.entries(Object.groupBy(results, ({ kind }) => kind));
  recordFigure({
    claim: "agents 9",
    text: `${results.length} of ${count} hostile PDFs ended within ${settleSeconds} s (${kinds.map(([kind, each]) => `${each?.length} ${kind}`).join(", ")}); ${goodTexts.length} of ${goodTexts.length} good ones were read meanwhile`,
    counted: { reached: results.length, needed: count },
  });
}, 900_000);
