import { describe, expect, test } from "vitest";
import { readAudioFile } from "./audio-file.ts";
import { makeFlac, makeMp3, makeWav, mp3FrameBytes, mp3FrameSeconds, wavChunk } from "./test/make-audio.ts";

const reasonOf = (bytes: Buffer): string => {
  const clip = readAudioFile(bytes);
  return "reason" in clip ? clip.reason : "";
};

/** Throws for a file that is rejected. */
function acceptedClip(bytes: Buffer) {
  const clip = readAudioFile(bytes);
  if ("reason" in clip) throw new Error(clip.reason);
  return clip;
}

const tone = { seconds: 0.5, frequency: 440 };

describe("WAV", () => {
  test("is passed on with its sound, and the header says how long it is", () => {
    const file = makeWav(tone);
    const clip = acceptedClip(file);
    expect(clip).toMatchObject({ mediaType: "audio/wav", seconds: 0.5 });
    expect(Buffer.from(clip.bytes).subarray(44)).toEqual(file.subarray(44));
  });

  test("other chunks are left out, and the whole rest is sound if the length is unknown", () => {
    const before = [wavChunk("LIST", Buffer.from("a title"))];
    expect(acceptedClip(makeWav({ ...tone, before })).bytes).toEqual(acceptedClip(makeWav(tone)).bytes);
    const piped = acceptedClip(makeWav({ ...tone, declaredBytes: 0xff_ff_ff_ff }));
    expect(piped.bytes).toEqual(acceptedClip(makeWav(tone)).bytes);
  });

  test.each([
    { name: "a sample rate of 1 Hz, which makes 16,000 samples of each", field: "sampleRate", value: 1 },
    { name: "a sample rate of 4 GHz", field: "sampleRate", value: 4_000_000_000 },
    { name: "no channel", field: "channels", value: 0 },
    { name: "nine channels", field: "channels", value: 9 },
    { name: "compressed samples", field: "tag", value: 2 },
    { name: "samples of 12 bits", field: "bitsPerSample", value: 12 },
    { name: "samples of 0 bits", field: "bitsPerSample", value: 0 },
  ] as const)("with $name is rejected", ({ field, value }) => {
    const bytes = makeWav(tone);
    expect(reasonOf(bytes)).toBe("");
    if (field === "sampleRate") bytes.writeUInt32LE(value, 24);
    else bytes.writeUInt16LE(value, { tag: 20, channels: 22, bitsPerSample: 34 }[field]);
    expect(reasonOf(bytes)).not.toBe("");
  });

  test.each([
    ["a truncated format", makeWav(tone).subarray(0, 30)],
    ["no chunks", makeWav(tone).subarray(0, 12)],
    [
      "the sound before its format",
      Buffer.concat([makeWav(tone).subarray(0, 12), makeWav(tone).subarray(36)]),
    ],
    [
      "thousands of empty chunks",
      makeWav({ ...tone, before: Array.from({ length: 5000 }, () => wavChunk("LIST", Buffer.alloc(0))) }),
    ],
  ])("with %s is rejected", (_name, bytes) => {
    expect(reasonOf(bytes)).not.toBe("");
  });
});

describe("FLAC", () => {
  test("is passed on with its frames, and without other metadata", () => {
    const clip = acceptedClip(makeFlac({ ...tone, blocks: [[4, Buffer.from("a title")]] }));
    expect(clip).toMatchObject({ mediaType: "audio/flac", seconds: 0.5 });
    expect(clip.bytes).toEqual(makeFlac(tone));
  });

  test.each([
    ["no length", makeFlac({ ...tone, declaredSamples: 0 })],
    ["a sample rate of 1 Hz", makeFlac({ seconds: 2, sampleRate: 1 })],
    ["a second block of the first type", makeFlac({ ...tone, blocks: [[0, Buffer.alloc(34)]] })],
    [
      "hundreds of blocks",
      makeFlac({ ...tone, blocks: Array.from({ length: 200 }, () => [4, Buffer.alloc(0)]) }),
    ],
    ["no frames", makeFlac(tone).subarray(0, 42)],
    ["something else instead of frames", Buffer.concat([makeFlac(tone).subarray(0, 42), Buffer.alloc(99)])],
  ])("with %s is rejected", (_name, bytes) => {
    expect(reasonOf(bytes)).not.toBe("");
  });

  test("a length that decoders would allocate is its length, however few frames it has", () => {
    expect(acceptedClip(makeFlac({ ...tone, declaredSamples: 2 ** 36 - 1 })).seconds).toBeGreaterThan(4e6);
  });
});

describe("MP3", () => {
  test("is measured by its frames, without the tag before and after them", () => {
    const after = Buffer.concat([Buffer.from("TAG"), Buffer.alloc(125)]);
    const clip = acceptedClip(makeMp3({ frames: 10, tagBytes: 300, after }));
    expect(clip).toMatchObject({ mediaType: "audio/mpeg", seconds: 10 * mp3FrameSeconds });
    expect(clip.bytes).toEqual(makeMp3({ frames: 10 }));
  });

  test("the number of frames in the file is not passed on, because decoders trust it", () => {
    const clip = acceptedClip(makeMp3({ frames: 10, declaredFrames: 0xff_ff_ff_fe }));
    expect(clip.bytes).toEqual(makeMp3({ frames: 10 }));
    const twice = Buffer.concat([
      makeMp3({ frames: 0, declaredFrames: 9 }),
      makeMp3({ frames: 10, declaredFrames: 9 }),
    ]);
    expect(acceptedClip(twice).bytes).toEqual(makeMp3({ frames: 10 }));
  });

  test("frames after a gap, or with another sample rate, are not passed on", () => {
    const frames = makeMp3({ frames: 10 });
    const other = Buffer.from(frames);
    other.writeUInt8(0x94, 2);
    for (const more of [Buffer.concat([Buffer.alloc(7), frames]), other]) {
      expect(acceptedClip(Buffer.concat([frames, more])).bytes).toEqual(frames);
    }
  });

  test.each([
    ["without frames", Buffer.concat([Buffer.from("ID3"), Buffer.alloc(500)])],
    ["whose tag is longer than the file", makeMp3({ frames: 0, tagBytes: 2 ** 20 }).subarray(0, 100)],
    ["with frames of unknown length", Buffer.alloc(4000, Buffer.from("fffb0000".padEnd(40, "0"), "hex"))],
    ["that is cut in its first frame", makeMp3({ frames: 1 }).subarray(0, mp3FrameBytes - 1)],
  ])("%s is rejected", (_name, bytes) => {
    expect(reasonOf(bytes)).not.toBe("");
  });
});

test.each([
  ["Ogg", "OggS\0\u0002aaaaaaaa"],
  ["M4A", "\0\0\0 ftypM4A "],
  ["WebM", "\u001aE\u00df\u00a3aaaaaaaa"],
  ["AIFF", "FORMaaaaAIFFaa"],
  ["AAC", "\u00ff\u00f1aaaaaaaaaa"],
  ["not a supported audio file", "<html></html>"],
])("%s is named in the error, with what to send instead", (name, start) => {
  expect(reasonOf(Buffer.from(start, "latin1"))).toMatch(new RegExp(`${name}.*WAV, MP3 or FLAC`, "u"));
});

test("a sound of less than a tenth of a second is rejected, and one of a tenth accepted", () => {
  expect(reasonOf(makeWav({ seconds: 0.09 }))).toContain("shorter than 0.1 seconds");
  expect(reasonOf(makeWav({ seconds: 0.1 }))).toBe("");
});
