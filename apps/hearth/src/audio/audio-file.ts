/**
 * @module
 * Audio in requests: recognizes WAV, MP3 and FLAC by their bytes and enforces limits on number, size and length. The
 * decoder of engines trusts the numbers in a file, so an engine never gets a client's header: it gets the sound with a
 * header that is written here, or only the frames that were counted here. Decoding itself happens in the engine's
 * process.
 * Imported by the OpenAI dialect.
 */
import type { AudioClip } from "@hearth-and-keep/engine";
import { readFlac } from "./flac-file.ts";
import { readMp3 } from "./mp3-file.ts";
import type { RejectedAudio } from "./sample-format.ts";
import { readWav } from "./wav-file.ts";

/** Throws RangeError if the bytes end too early. */
type AudioReader = (bytes: Buffer) => AudioClip | RejectedAudio;

type AudioFormat = { readonly signature: RegExp; readonly read: AudioReader };

const formats: readonly AudioFormat[] = [
  { signature: /^RIFF.{4}WAVE/su, read: readWav },
  { signature: /^fLaC/u, read: readFlac },
  // A tag with the title comes first, or the first frame of MPEG layer III.
  { signature: /^(?:ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb])/u, read: readMp3 },
];

/** Common formats that llama.cpp does not decode. */
const unsupportedFormats: readonly { readonly name: string; readonly signature: RegExp }[] = [
  { name: "an Ogg file (Opus or Vorbis)", signature: /^OggS/u },
  { name: "an MP4 or M4A file", signature: /^.{4}ftyp/su },
  { name: "a WebM file", signature: /^.E\xdf\xa3/su },
  { name: "an AIFF file", signature: /^FORM.{4}AIF[FC]/su },
  { name: "an AAC file", signature: /^(?:ADIF|\xff[\xf0\xf1\xf8\xf9])/u },
  { name: "an AMR file", signature: /^#!AMR/u },
];

/** Shorter sounds contain no word, and some encoders fail on them. */
const minSeconds = 0.1;

export function readAudioFile(bytes: Buffer): AudioClip | RejectedAudio {
  const start = bytes.toString("latin1", 0, 12);
  const format = formats.find(({ signature }) => signature.test(start));
  if (format === undefined) return { reason: describeUnsupported(start) };
  const clip = readWith(format.read, bytes);
  if ("reason" in clip || clip.seconds >= minSeconds) return clip;
  return { reason: `is shorter than ${minSeconds} seconds; send a longer sound` };
}

function describeUnsupported(start: string): string {
  const name = unsupportedFormats.find(({ signature }) => signature.test(start))?.name;
  const what = name === undefined ? "is not a supported audio file" : `is ${name}, which is not supported`;
  return `${what}; send a WAV, MP3 or FLAC file`;
}

function readWith(read: AudioReader, bytes: Buffer): AudioClip | RejectedAudio {
  try {
    return read(bytes);
  } catch (error) {
    if (error instanceof RangeError) return { reason: "is a truncated audio file; send the complete file" };
    throw error;
  }
}
