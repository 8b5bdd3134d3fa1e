import { expect, test } from "vitest";
import { readAudio, readUploadedAudio } from "./read-audio.ts";
import { makeFlac, makeWav } from "./test/make-audio.ts";

const wav = makeWav({ seconds: 0.2, frequency: 440 });
const sourceOf = (bytes: Buffer, field = "audio") => ({ field, base64: bytes.toString("base64") });

function reasonOf(read: () => unknown): string {
  try {
    read();
    return "";
  } catch (error) {
    return String((error as { failure?: { reason?: string } }).failure?.reason); // thrown by `invalidField`
  }
}

test("audio is found by its path, as base64 or a data URL", () => {
  const url = `data:audio/wav;base64,${wav.toString("base64")}`;
  const clips = readAudio([sourceOf(wav, "a"), { field: "b", base64: url, format: "wav" }]);
  expect([...clips.keys()]).toEqual(["a", "b"]);
  expect(clips.get("a")?.bytes).toEqual(clips.get("b")?.bytes);
});

test("a declared format must be the actual one", () => {
  expect(reasonOf(() => readAudio([{ ...sourceOf(wav), format: "mp3" }]))).toContain('"mp3" but is wav');
  expect(reasonOf(() => readAudio([{ ...sourceOf(wav), format: "wav" }]))).toBe("");
});

test.each(["", "not base64!", "####"])("%j is rejected as base64", (base64) => {
  expect(reasonOf(() => readAudio([{ field: "a", base64 }]))).toContain("base64");
});

test("sixteen files are accepted, and seventeen rejected", () => {
  const sources = Array.from({ length: 17 }, (_, index) => sourceOf(wav, String(index)));
  expect(readAudio(sources.slice(1)).size).toBe(16);
  expect(reasonOf(() => readAudio(sources))).toContain("at most 16");
});

test("half an hour is accepted, in all files together, and no more", () => {
  const long = makeFlac({ seconds: 0.2, declaredSamples: 900 * 16_000 });
  expect(reasonOf(() => readAudio([sourceOf(long), sourceOf(long)]))).toBe("");
  expect(reasonOf(() => readAudio([sourceOf(long), sourceOf(long), sourceOf(wav)]))).toContain("30 minutes");
  expect(reasonOf(() => readUploadedAudio(long, "file"))).toBe("");
  const hours = makeFlac({ seconds: 0.2, declaredSamples: 2 ** 36 - 1 });
  expect(reasonOf(() => readUploadedAudio(hours, "file"))).toContain("30 minutes");
});

test("a file of more than 25 MiB is rejected before it is decoded", () => {
  const large = Buffer.alloc(25 * 1024 * 1024 + 1);
  wav.copy(large);
  expect(reasonOf(() => readUploadedAudio(large, "file"))).toContain("25 MiB");
  expect(reasonOf(() => readAudio([{ field: "a", base64: "A".repeat(36 * 1024 * 1024) }]))).toContain(
    "25 MiB",
  );
  expect(reasonOf(() => readUploadedAudio(large.subarray(0, 1024 * 1024), "file"))).toBe("");
});
