import type { AudioClip } from "@hearth-and-keep/engine";
import { checkSampleFormat, type RejectedAudio } from "./sample-format.ts";

/** The first block of metadata, and the only one that decoders need: the format and length of the sound. */
const streamInformation = { start: 8, bytes: 34 } as const;
/** Album covers, titles and tables for seeking. */
const maxBlocks = 128;
const lastBlockFlag = 0x80;

/** A decoder never writes more samples than the metadata say, so their number is checked, and not the frames. */
export function readFlac(bytes: Buffer): AudioClip | RejectedAudio {
  const frames = findFrames(bytes);
  if (frames === undefined) return { reason: "is a damaged FLAC file; save it again and resend it" };
  const { start, bytes: length } = streamInformation;
  const information = bytes.subarray(start, start + length);
  const packed = information.readUInt32BE(10);
  const format = { sampleRate: packed >>> 12, channels: ((packed >>> 9) & 7) + 1 };
  const sampleCount = (packed & 15) * 2 ** 32 + information.readUInt32BE(14);
  const reason =
    checkSampleFormat(format) ??
    (sampleCount === 0 ? "is a FLAC file that does not say how long it is; save it again" : undefined);
  if (reason !== undefined) return { reason };
  const header = Buffer.from([...Buffer.from("fLaC"), lastBlockFlag, 0, 0, length]);
  return {
    bytes: Buffer.concat([header, information, frames]),
    mediaType: "audio/flac",
    seconds: sampleCount / format.sampleRate,
  };
}

/** What follows the metadata; undefined if that is damaged. */
function findFrames(bytes: Buffer): Buffer | undefined {
  let at = 4;
  for (let count = 0; count < maxBlocks; count += 1) {
    const flags = bytes.readUInt8(at);
    const length = bytes.readUIntBE(at + 1, 3);
    const isFirst = count === 0;
    // Only the first block is of type 0, and its length never changes.
    if (isFirst !== ((flags & 0x7f) === 0) || (isFirst && length !== streamInformation.bytes))
      return undefined;
    at += 4 + length;
    if ((flags & lastBlockFlag) !== 0) return hasFrameAt(bytes, at) ? bytes.subarray(at) : undefined;
  }
  return undefined;
}

/** Frames start with fourteen bits that are the same in every file. */
function hasFrameAt(bytes: Buffer, at: number): boolean {
  return (bytes.readUInt16BE(at) & 0xfffc) === 0xfff8;
}
