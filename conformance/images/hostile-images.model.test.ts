import { recordFigure, scale } from "@hearth-and-keep/figures";
import { descendantsOf, readProcessFile } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drawBmp, drawGif, drawJpeg, drawPng } from "../../apps/hearth/src/images/test/draw-images.ts";
import type { TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { findShapeFault } from "../robustness/error-shape.ts";
import { createHostileImages } from "./hostile-images.ts";
import {
  type CallResponse,
  type ImageCall,
  imageCalls,
  type SentImage,
  send,
  startVisionServer,
} from "./image-calls.ts";

const minHostile = 300;
const minValid = 40;
const atOnce = scale === "nightly" ? 8 : 4;
const mebibyte = 1024 ** 2;
/** The memory that the largest accepted image may take in addition to the model. */
const maxExtraBytes = 512 * mebibyte;
/** Decoder internals and details of the machine, which must not reach clients. */
const internalDetails =
  /stb_?i|mtmd|clip_|failed to load|bad_alloc|std::|ggml|xllamacpp|0x[0-9a-f]{6,}|errno|\/(?:tmp|proc|usr|root)\//iu;

const stack = new AsyncDisposableStack();
let server: TestServer;

beforeAll(async () => {
  server = stack.use(await startVisionServer());
}, 300_000);
afterAll(() => stack.disposeAsync());

test("hostile images are rejected with an error of the API or accepted, and the engine stays within its memory limit", async () => {
  const first = callAt(0);
  const plain = await send(server, first.path, first.body(validImages().slice(0, 1), false));
  expect(plain.status).toBe(200);
  const before = runningEngines();
  expect(before).toHaveLength(1);
  const hostile = createHostileImages();
  const faults: string[] = [];
  let [rejected, accepted] = [0, 0];
  for (const [index, { description, bytes, declaredType }] of hostile.entries()) {
    const call = callAt(index);
    const response = await send(server, call.path, call.body([{ bytes, mediaType: declaredType }], false));
    const fault = faultOf(response, call);
    if (fault !== undefined) faults.push(`${description} through ${call.path}: ${fault}`);
    if (response.status === 200) accepted += 1;
    else rejected += 1;
  }
  expect(faults).toEqual([]);
  const after = runningEngines();
  expect(after.map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid));
  const extra = (after[0]?.peakBytes ?? Number.NaN) - (before[0]?.peakBytes ?? 0);
  expect(extra).toBeLessThan(maxExtraBytes);
  expect(hostile.length).toBeGreaterThanOrEqual(minHostile);
  recordFigure({
    claim: "engines 9",
    text: `${hostile.length} hostile images of ${minHostile} needed: ${rejected} rejected with 400, ${accepted} accepted, the same engine process before and after, peak memory ${Math.round(extra / mebibyte)} MiB above the start (at most ${maxExtraBytes / mebibyte})`,
    counted: { reached: hostile.length, needed: minHostile },
  });
});

test("valid images of every format and many sizes are accepted by the same engine", async () => {
  const valid = validImages();
  const unexpected: string[] = [];
  for (const [index, image] of valid.entries()) {
    const call = callAt(index);
    const { status, text } = await send(server, call.path, call.body([image], false));
    if (status !== 200) unexpected.push(`${image.mediaType} through ${call.path}: ${text}`);
  }
  expect(unexpected).toEqual([]);
  expect(valid.length).toBeGreaterThanOrEqual(minValid);
  recordFigure({
    claim: "engines 9",
    text: `${valid.length} valid images accepted, of ${minValid} needed`,
    counted: { reached: valid.length, needed: minValid },
  });
});

test("several of the largest accepted images at once do not crash the engine", async () => {
  const before = runningEngines();
  const large = { mediaType: "image/png", bytes: drawPng({ width: 6300, height: 6300, colourType: 6 }) };
  const responses = await Promise.all(
    Array.from({ length: atOnce }, (_, index) => {
      const call = callAt(index);
      return send(server, call.path, call.body([large], false));
    }),
  );
  expect(responses.map(({ status }) => status)).toEqual(Array(atOnce).fill(200));
  expect(runningEngines().map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid));
});

test.each(imageCalls)("$path accepts sixteen images and rejects seventeen", async (call) => {
  const [image] = validImages();
  const many = Array.from({ length: 17 }, () => image).filter((each) => each !== undefined);
  const rejected = await send(server, call.path, call.body(many, false));
  expect([rejected.status, rejected.text]).toEqual([400, expect.stringContaining("at most 16")]);
  expect((await send(server, call.path, call.body(many.slice(1), false))).status).toBe(200);
});

function validImages(): readonly SentImage[] {
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
  if (call === undefined) throw new Error("No endpoint accepts images");
  return call;
}

function faultOf(response: CallResponse, { protocol }: ImageCall): string | undefined {
  if (internalDetails.test(response.text)) return `exposes internals: ${response.text.slice(0, 300)}`;
  if (response.status === 200) return undefined;
  if (response.status !== 400) return `status ${response.status}: ${response.text.slice(0, 300)}`;
  return findShapeFault(protocol, { ...response, body: response.text });
}

type RunningEngine = { readonly pid: number; readonly peakBytes: number };

/** The processes that run the launcher of llama.cpp's own server, inside any sandbox. */
function runningEngines(): readonly RunningEngine[] {
  return descendantsOf(process.pid)
    .filter((pid) => /python[\d.]*$/u.test(readProcessFile(pid, "cmdline").split("\0")[0] ?? ""))
    .map((pid) => {
      const peak = /^VmHWM:\s+(\d+) kB/mu.exec(readProcessFile(pid, "status"))?.[1];
      return { pid, peakBytes: Number(peak ?? 0) * 1024 };
    });
}
