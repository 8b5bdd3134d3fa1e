/**
 * @module
 * Tones in every supported format, written byte by byte so that tests can corrupt any of them. Any decoder reads the
 * files, unless the options make them invalid.
 * Imported by the tests of `audio/` and by `conformance/audio/`.
 */

type Tone = {
  readonly seconds: number;
  /** In hertz; silence by default. */
  readonly frequency?: number;
  readonly sampleRate?: number;
};

export type WavOptions = Tone & {
  /** Instead of the actual size. */
  readonly declaredBytes?: number;
  /** Chunks between the format and the sound. */
  readonly before?: readonly Buffer[];
};

/** Mono, 16 bits. */
export function makeWav(options: WavOptions): Buffer {
  const { sampleRate = 16_000, before = [] } = options;
  const samples = samplesOf(options);
  const bytes = Buffer.alloc(samples.length * 2);
  for (const [index, sample] of samples.entries()) bytes.writeInt16LE(sample, index * 2);
  const format = Buffer.alloc(16);
  format.writeUInt16LE(1, 0);
  format.writeUInt16LE(1, 2);
  format.writeUInt32LE(sampleRate, 4);
  format.writeUInt32LE(sampleRate * 2, 8);
  format.writeUInt16LE(2, 12);
  format.writeUInt16LE(16, 14);
  const sound = wavChunk("data", bytes);
  sound.writeUInt32LE(options.declaredBytes ?? bytes.length, 4);
  const chunks = Buffer.concat([wavChunk("fmt ", format), ...before, sound]);
  return Buffer.concat([wavChunk("RIFF", Buffer.from("WAVE")), chunks]);
}

export function wavChunk(name: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, "latin1");
  head.writeUInt32LE(content.length, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}

export type FlacOptions = Tone & {
  /** Instead of the actual number of samples. */
  readonly declaredSamples?: number;
  /** Blocks of metadata after the first, as type and content. */
  readonly blocks?: readonly (readonly [type: number, content: Buffer])[];
};

const flacBlockSamples = 4096;

/** Mono, 16 bits, without compression. */
export function makeFlac(options: FlacOptions): Buffer {
  const { sampleRate = 16_000, blocks = [] } = options;
  const samples = samplesOf(options);
  const count = options.declaredSamples ?? samples.length;
  const information = Buffer.alloc(34);
  information.writeUInt16BE(flacBlockSamples, 0);
  information.writeUInt16BE(flacBlockSamples, 2);
  information.writeUInt32BE(((sampleRate << 12) | (15 << 4) | Math.floor(count / 2 ** 32)) >>> 0, 10);
  information.writeUInt32BE(count % 2 ** 32, 14);
  const all = [[0, information] as const, ...blocks].map(([type, content], index) => {
    const head = Buffer.alloc(4);
    head.writeUInt8(type | (index === blocks.length ? 0x80 : 0), 0);
    head.writeUIntBE(content.length, 1, 3);
    return Buffer.concat([head, content]);
  });
  const frames: Buffer[] = [];
  for (let start = 0; start < samples.length; start += flacBlockSamples) {
    frames.push(makeFlacFrame(samples.slice(start, start + flacBlockSamples), frames.length));
  }
  return Buffer.concat([Buffer.from("fLaC"), ...all, ...frames]);
}

/** The number of the frame has one byte below 128, which is enough for half a minute. */
function makeFlacFrame(samples: readonly number[], number: number): Buffer {
  const head = Buffer.from([0xff, 0xf8, 0x70, 0x08, number, 0, 0]);
  head.writeUInt16BE(samples.length - 1, 5);
  const body = Buffer.alloc(1 + samples.length * 2);
  body.writeUInt8(2, 0);
  for (const [index, sample] of samples.entries()) body.writeInt16BE(sample, 1 + index * 2);
  const frame = Buffer.concat([head, Buffer.from([checksum(head, 0x07, 8)]), body]);
  const end = Buffer.alloc(2);
  end.writeUInt16BE(checksum(frame, 0x8005, 16));
  return Buffer.concat([frame, end]);
}

function checksum(bytes: Buffer, polynomial: number, bits: 8 | 16): number {
  const top = 1 << (bits - 1);
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit += 1) {
      sum = ((sum & top) === 0 ? sum << 1 : (sum << 1) ^ polynomial) & ((1 << bits) - 1);
    }
  }
  return sum;
}

export type Mp3Options = {
  readonly frames: number;
  /** In front of the frames: the number of frames that this file claims to have. */
  readonly declaredFrames?: number;
  /** The length of a tag with the title, in front of everything. */
  readonly tagBytes?: number;
  readonly after?: Buffer;
};

/** MPEG 1, 128 kbit/s, 44.1 kHz, stereo. */
export const mp3FrameBytes = 417;
export const mp3FrameSeconds: number = 1152 / 44_100;

/** Silence: a frame without any bits for sound. */
export function makeMp3({ frames, declaredFrames, tagBytes, after }: Mp3Options): Buffer {
  const frame = Buffer.alloc(mp3FrameBytes);
  frame.writeUInt32BE(0xff_fb_90_00);
  const counting = Buffer.from(frame);
  counting.write("Xing\0\0\0\u0001", 36, "latin1");
  counting.writeUInt32BE(declaredFrames ?? 0, 44);
  return Buffer.concat([
    ...(tagBytes === undefined ? [] : [makeTag(tagBytes)]),
    ...(declaredFrames === undefined ? [] : [counting]),
    ...Array.from({ length: frames }, () => frame),
    after ?? Buffer.alloc(0),
  ]);
}

function makeTag(bytes: number): Buffer {
  const sizes = [21, 14, 7, 0].map((shift) => (bytes >> shift) & 0x7f);
  return Buffer.concat([Buffer.from("ID3"), Buffer.from([4, 0, 0, ...sizes]), Buffer.alloc(bytes)]);
}

function samplesOf({ seconds, frequency = 0, sampleRate = 16_000 }: Tone): readonly number[] {
  return Array.from({ length: Math.round(seconds * sampleRate) }, (_, index) =>
    Math.round(Math.sin((index / sampleRate) * frequency * 2 * Math.PI) * 8000),
  );
}
