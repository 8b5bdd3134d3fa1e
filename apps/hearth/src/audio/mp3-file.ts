import type { AudioClip } from "@hearth-and-keep/engine";
import type { RejectedAudio } from "./sample-format.ts";

/** One frame of MPEG layer III. */
type Frame = {
  readonly bytes: number;
  readonly samples: number;
  readonly sampleRate: number;
  /** Equal in all frames of a file. */
  readonly stream: number;
};

/** By the two bits of a header for the version; 1 is reserved. */
const versions: Readonly<Partial<Record<number, { readonly samples: number; readonly divisor: number }>>> = {
  3: { samples: 1152, divisor: 1 },
  2: { samples: 576, divisor: 2 },
  0: { samples: 576, divisor: 4 },
};
const layerThree = 1;
const sampleRates = [44_100, 48_000, 32_000] as const;
/** In kbit/s, from index 1; 0 means a length that the header does not say. */
const bitRates = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const lowBitRates = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
/** The first frame can hold a number of frames instead of sound, which decoders would trust. */
const countMark = /Xing|Info/u;
const countMarkEnd = 48;

/** Only a run of frames without gaps is passed on: decoders search gaps for frames, and can find other ones than we do. */
export function readMp3(bytes: Buffer): AudioClip | RejectedAudio {
  const start = endOfTag(bytes);
  const first = readFrame(bytes, start);
  if (first === undefined) return { reason: "is not an MP3 file with MPEG layer III; save it again as MP3" };
  let firstSound = start;
  let frames = 0;
  let at = start;
  for (let frame: Frame | undefined = first; frame?.stream === first.stream; frame = readFrame(bytes, at)) {
    if (at + frame.bytes > bytes.length) break;
    const isCount = frames === 0 && countMark.test(bytes.toString("latin1", at + 4, at + countMarkEnd));
    at += frame.bytes;
    if (isCount) firstSound = at;
    else frames += 1;
  }
  return {
    bytes: bytes.subarray(firstSound, at),
    mediaType: "audio/mpeg",
    seconds: (frames * first.samples) / first.sampleRate,
  };
}

/** Titles and pictures come before the sound; the length has seven bits in each byte. */
function endOfTag(bytes: Buffer): number {
  if (bytes.toString("latin1", 0, 3) !== "ID3") return 0;
  const length = [6, 7, 8, 9].reduce((sum, at) => sum * 128 + (bytes.readUInt8(at) & 0x7f), 0);
  const hasFooter = (bytes.readUInt8(5) & 0x10) !== 0;
  return 10 + length + (hasFooter ? 10 : 0);
}

/** Undefined if there is no header of a frame. */
function readFrame(bytes: Buffer, at: number): Frame | undefined {
  if (at + 4 > bytes.length) return undefined;
  const header = bytes.readUInt32BE(at);
  const version = versions[(header >>> 19) & 3];
  const bitRate = (version?.divisor === 1 ? bitRates : lowBitRates)[((header >>> 12) & 15) - 1];
  const baseRate = sampleRates[(header >>> 10) & 3];
  const isFrame = header >>> 21 === 0x7ff && ((header >>> 17) & 3) === layerThree;
  if (!isFrame || version === undefined || bitRate === undefined || baseRate === undefined) return undefined;
  const sampleRate = baseRate / version.divisor;
  const padding = (header >>> 9) & 1;
  return {
    bytes: Math.floor(((version.samples / 8) * bitRate * 1000) / sampleRate) + padding,
    samples: version.samples,
    sampleRate,
    // The version, the layer and the sample rate.
    stream: header & 0xff_fe_0c_00,
  };
}
