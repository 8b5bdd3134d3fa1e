import type { AudioClip } from "@hearth-and-keep/engine";
import { checkSampleFormat, type RejectedAudio, type SampleFormat } from "./sample-format.ts";

type WavFormat = SampleFormat & {
  /** How samples are encoded, as in the file. */
  readonly tag: number;
  readonly bitsPerSample: number;
};

/** The bits that a sample can have, by encoding: integers, floating-point numbers, A-law and μ-law. */
const encodings: ReadonlyMap<number, readonly number[]> = new Map([
  [1, [8, 16, 24, 32]],
  [3, [32, 64]],
  [6, [8]],
  [7, [8]],
]);
/** The encoding is in a longer header. */
const extensibleTag = 0xfffe;
const firstChunk = 12;
/** Recorders write a few, with the date and the names of programs. */
const maxChunks = 64;

/** Programs that write to a pipe do not know the length of the sound, so one that is too large means the whole rest. */
export function readWav(bytes: Buffer): AudioClip | RejectedAudio {
  let format: WavFormat | undefined;
  let at = firstChunk;
  for (let count = 0; count < maxChunks && at + 8 <= bytes.length; count += 1) {
    const name = bytes.toString("latin1", at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    const content = bytes.subarray(at + 8, at + 8 + size);
    if (name === "fmt ") {
      const read = readFormat(content);
      if ("reason" in read) return read;
      format = read;
    }
    if (name === "data" && format !== undefined) return writeWav(format, content);
    // Chunks start at even offsets.
    at += 8 + size + (size % 2);
  }
  return { reason: "is a WAV file without sound; send the complete file" };
}

function readFormat(content: Buffer): WavFormat | RejectedAudio {
  const written = content.readUInt16LE(0);
  const format = {
    tag: written === extensibleTag ? content.readUInt16LE(24) : written,
    channels: content.readUInt16LE(2),
    sampleRate: content.readUInt32LE(4),
    bitsPerSample: content.readUInt16LE(14),
  };
  if (encodings.get(format.tag)?.includes(format.bitsPerSample) !== true)
    return { reason: "is a WAV file with an unusual encoding; save it with 16-bit samples" };
  const reason = checkSampleFormat(format);
  return reason === undefined ? format : { reason };
}

/** A file with only the two chunks that decoders need. */
function writeWav({ tag, channels, sampleRate, bitsPerSample }: WavFormat, samples: Buffer): AudioClip {
  const frameBytes = (channels * bitsPerSample) / 8;
  const frames = Math.floor(samples.length / frameBytes);
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + frames * frameBytes, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(tag, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * frameBytes, 28);
  header.writeUInt16LE(frameBytes, 32);
  header.writeUInt16LE(bitsPerSample, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(frames * frameBytes, 40);
  return {
    bytes: Buffer.concat([header, samples.subarray(0, frames * frameBytes)]),
    mediaType: "audio/wav",
    seconds: frames / sampleRate,
  };
}
