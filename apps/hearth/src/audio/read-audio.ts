import type { AudioClip } from "@hearth-and-keep/engine";
import { invalidField } from "../failures.ts";
import { decodeBase64, decodedLength, splitDataUrl } from "../images/base64.ts";
import { readAudioFile } from "./audio-file.ts";

/** Audio in a request; `field` is its path in the body. */
export type AudioSource = {
  readonly field: string;
  readonly base64: string;
  /** What the client says it is, e.g. "wav". */
  readonly format?: string | undefined;
};

/** All audio of a request, by its path in the body. */
export type AudioByField = ReadonlyMap<string, AudioClip>;

const maxClips = 16;
/** As much as OpenAI accepts; a request body has less room for base64. */
const maxAudioBytes = 25 * 1024 * 1024;
/** For all audio of a request together, because the engine holds it decoded, at 64 kB per second. */
const maxTotalSeconds = 1800;

/** Runs every check that needs no decoding, the cheap ones first. */
export function readAudio(sources: readonly AudioSource[]): AudioByField {
  const [, tooMany] = sources.slice(maxClips - 1);
  if (tooMany !== undefined) {
    throw invalidField(
      tooMany.field,
      `is one of ${sources.length} audio files; at most ${maxClips} are allowed per request`,
    );
  }
  let seconds = 0;
  const clips = sources.map((source) => {
    const clip = readClip(decode(source), source);
    seconds += clip.seconds;
    if (seconds > maxTotalSeconds) throw tooLong(source.field);
    return [source.field, clip] as const;
  });
  return new Map(clips);
}

/** Reads a file that a client uploaded. */
export function readUploadedAudio(bytes: Buffer, field: string): AudioClip {
  if (bytes.length > maxAudioBytes) throw tooLarge(field);
  const clip = readClip(bytes, { field });
  if (clip.seconds > maxTotalSeconds) throw tooLong(field);
  return clip;
}

/** The audio that `readAudio` read at this path. */
export function audioAt(audio: AudioByField, field: string): AudioClip {
  const clip = audio.get(field);
  if (clip === undefined) throw new Error("readAudio did not read this audio");
  return clip;
}

/** Some clients send a data URL. */
function decode({ field, base64: written }: AudioSource): Buffer {
  const base64 = splitDataUrl(written)?.base64 ?? written;
  if (decodedLength(base64) > maxAudioBytes + 3) throw tooLarge(field);
  const bytes = decodeBase64(base64);
  if (bytes === undefined || bytes.length === 0)
    throw invalidField(field, "must be a base64-encoded audio file");
  return bytes;
}

const formatNames: Readonly<Record<AudioClip["mediaType"], string>> = {
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "audio/flac": "flac",
};

function readClip(bytes: Buffer, { field, format }: Omit<AudioSource, "base64">): AudioClip {
  const clip = readAudioFile(bytes);
  if ("reason" in clip) throw invalidField(field, clip.reason);
  const actual = formatNames[clip.mediaType];
  if (format !== undefined && format !== actual) {
    throw invalidField(field, `is declared as "${format}" but is ${actual}; declare the actual format`);
  }
  return clip;
}

function tooLarge(field: string): Error {
  return invalidField(field, `exceeds ${maxAudioBytes / 1024 / 1024} MiB; send a smaller file`);
}

function tooLong(field: string): Error {
  return invalidField(
    field,
    `exceeds the limit of ${maxTotalSeconds / 60} minutes for all audio of a request; send a shorter part`,
  );
}
