import { recordFigure, scale } from "@hearth-and-keep/figures";
import { descendantsOf, readProcessFile } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drawBmp, drawGif, drawJpeg, drawPng } from "../../apps/hearth/src/images/test/draw-images.ts";
import type { TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { findShapeFault } from "../robustness/error-shape.ts";
import { makeHostileImages } from "./hostile-images.ts";
import {
  type CallAnswer,
  type ImageCall,
  imageCalls,
  type SentImage,
  send,
  startSeeingServer,
} from "./image-calls.ts";

const leastHostile = 300;
const leastGood = 40;
const atOnce = scale === "nightly" ? 8 : 4;
const mebibyte = 1024 ** 2;
/** What the largest image that is let through may cost beside the model. */
const mostExtraBytes = 512 * mebibyte;
/** Words of decoders, and what they tell of the machine. */
const nativeWords =
  /stb_?i|mtmd|clip_|failed to load|bad_alloc|std::|ggml|xllamacpp|0x[0-9a-f]{6,}|errno|\/(?:tmp|proc|usr|root)\//iu;

const stack = new AsyncDisposableStack();
let server: TestServer;

beforeAll(async () => {
  server = stack.use(await startSeeingServer());
}, 300_000);
afterAll(() => stack.disposeAsync());

test("hostile images are refused in the family's words or answered, and the engine lives on within its memory", async () => {
  const first = callAt(0);
  const plain = await send(server, first.path, first.body(goodImages().slice(0, 1), false));
  expect(plain.status).toBe(200);
  const before = enginesNow();
  expect(before).toHaveLength(1);
  const hostile = makeHostileImages();
  const faults: string[] = [];
  let [refused, answered] = [0, 0];
  for (const [index, { why, bytes, declaredType }] of hostile.entries()) {
    const call = callAt(index);
    const answer = await send(server, call.path, call.body([{ bytes, mediaType: declaredType }], false));
    const fault = faultOf(answer, call);
    if (fault !== undefined) faults.push(`${why} through ${call.path}: ${fault}`);
    if (answer.status === 200) answered += 1;
    else refused += 1;
  }
  expect(faults).toEqual([]);
  const after = enginesNow();
  expect(after.map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid));
  const extra = (after[0]?.peakBytes ?? Number.NaN) - (before[0]?.peakBytes ?? 0);
  expect(extra).toBeLessThan(mostExtraBytes);
  expect(hostile.length).toBeGreaterThanOrEqual(leastHostile);
  recordFigure({
    claim: "engines 9",
    text: `${hostile.length} hostile images of ${leastHostile} needed: ${refused} refused with 400, ${answered} answered, the same engine process before and after, at its peak ${Math.round(extra / mebibyte)} MiB above the start of ${mostExtraBytes / mebibyte} allowed`,
    counted: { reached: hostile.length, needed: leastHostile },
  });
});

test("good images of every kind and many sizes are answered by the same engine", async () => {
  const good = goodImages();
  const unanswered: string[] = [];
  for (const [index, image] of good.entries()) {
    const call = callAt(index);
    const { status, text } = await send(server, call.path, call.body([image], false));
    if (status !== 200) unanswered.push(`${image.mediaType} through ${call.path}: ${text}`);
  }
  expect(unanswered).toEqual([]);
  expect(good.length).toBeGreaterThanOrEqual(leastGood);
  recordFigure({
    claim: "engines 9",
    text: `${good.length} good images answered, of ${leastGood} needed`,
    counted: { reached: good.length, needed: leastGood },
  });
});

test("the largest images that are let through, several at once, leave the engine alive", async () => {
  const before = enginesNow();
  const large = { mediaType: "image/png", bytes: drawPng({ width: 6300, height: 6300, colourType: 6 }) };
  const answers = await Promise.all(
    Array.from({ length: atOnce }, (_, index) => {
      const call = callAt(index);
      return send(server, call.path, call.body([large], false));
    }),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(atOnce).fill(200));
  expect(enginesNow().map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid));
});

test.each(imageCalls)("seventeen images through $path are too many, and sixteen are not", async (call) => {
  const [image] = goodImages();
  const many = Array.from({ length: 17 }, () => image).filter((each) => each !== undefined);
  const refused = await send(server, call.path, call.body(many, false));
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("at most 16")]);
  expect((await send(server, call.path, call.body(many.slice(1), false))).status).toBe(200);
});

function goodImages(): readonly SentImage[] {
  const sizes = [
    [1, 1],
    [8, 8],
    [80, 60],
    [60, 80],
    [33, 77],
    [200, 1],
    [1, 200],
    [640, 480],
    [1000, 700],
    [1920, 1080],
  ] as const;
  return sizes.flatMap(([width, height]) => [
    { mediaType: "image/png", bytes: drawPng({ width, height }) },
    { mediaType: "image/jpeg", bytes: drawJpeg({ width, height }) },
    { mediaType: "image/gif", bytes: drawGif({ width, height }) },
    { mediaType: "image/bmp", bytes: drawBmp({ width, height }) },
  ]);
}

function callAt(index: number): ImageCall {
  const call = imageCalls[index % imageCalls.length];
  if (call === undefined) throw new Error("There is no way to send an image");
  return call;
}

function faultOf(answer: CallAnswer, { family }: ImageCall): string | undefined {
  if (nativeWords.test(answer.text)) return `native words: ${answer.text.slice(0, 300)}`;
  if (answer.status === 200) return undefined;
  if (answer.status !== 400) return `status ${answer.status}: ${answer.text.slice(0, 300)}`;
  return findShapeFault(family, { ...answer, body: answer.text });
}

type EngineNow = { readonly pid: number; readonly peakBytes: number };

/** The processes that run the launcher of llama.cpp's own server, below any walls around them. */
function enginesNow(): readonly EngineNow[] {
  return descendantsOf(process.pid)
    .filter((pid) => /python[\d.]*$/u.test(readProcessFile(pid, "cmdline").split("\0")[0] ?? ""))
    .map((pid) => {
      const peak = /^VmHWM:\s+(\d+) kB/mu.exec(readProcessFile(pid, "status"))?.[1];
      return { pid, peakBytes: Number(peak ?? 0) * 1024 };
    });
}
