/**
 * @module
 * Images that callers send, on their way to an engine: what kind one is and how large, told by its head without
 * decoding anything; how many and how large they may be; and addresses, fetched only from hosts that were named.
 * Promises that bytes are decoded in the engine's process alone, and only when their head is that of an image of
 * reasonable size. Imported by all dialects, by `parts.ts` and by `commands/serve.ts`.
 */
import { readBmpHead } from "./bmp-head.ts";
import { readGifHead } from "./gif-head.ts";
import type { HeadReader, ImageSize, Problem } from "./image-size.ts";
import { readJpegHead } from "./jpeg-head.ts";
import { readPngHead } from "./png-head.ts";

export type ImageHead = ImageSize & { readonly mediaType: string };

type Kind = { readonly mediaType: string; readonly sign: RegExp; readonly read: HeadReader };

const kinds: readonly Kind[] = [
  { mediaType: "image/png", sign: /^\x89PNG\r\n.\n/u, read: readPngHead },
  { mediaType: "image/jpeg", sign: /^\xff\xd8\xff/u, read: readJpegHead },
  { mediaType: "image/gif", sign: /^GIF8[79]a/u, read: readGifHead },
  { mediaType: "image/bmp", sign: /^BM/u, read: readBmpHead },
];

/** Well known, and read by no decoder of llama.cpp. */
const unreadKinds: readonly { readonly name: string; readonly sign: RegExp }[] = [
  { name: "WebP", sign: /^RIFF.{4}WEBP/su },
  { name: "HEIC or AVIF", sign: /^.{4}ftyp/su },
  { name: "TIFF", sign: /^(?:II\*\0|MM\0\*)/u },
];

const mostPointsOnASide = 16_384;
const mostPoints = 40_000_000;
/** Beyond it no model sees anything, and the smaller side is nothing once an image is made fit for one. */
const mostSideRatio = 200;

export function readImageHead(bytes: Buffer): ImageHead | Problem {
  const start = bytes.toString("latin1", 0, 12);
  const kind = kinds.find(({ sign }) => sign.test(start));
  if (kind === undefined) return { problem: nameUnread(start) };
  const size = readWithin(kind.read, bytes);
  if ("problem" in size) return size;
  const problem = judgeSize(size);
  return problem === undefined ? { mediaType: kind.mediaType, ...size } : { problem };
}

function nameUnread(start: string): string {
  const name = unreadKinds.find(({ sign }) => sign.test(start))?.name;
  const what =
    name === undefined ? "is no image that is known here" : `is a ${name} image, which is not read`;
  return `${what}; send a PNG, JPEG, GIF or BMP`;
}

function readWithin(read: HeadReader, bytes: Buffer): ImageSize | Problem {
  try {
    return read(bytes);
  } catch (problem) {
    if (problem instanceof RangeError) return { problem: "is an image that was cut short; send all of it" };
    throw problem;
  }
}

function judgeSize({ width, height, weight }: ImageSize): string | undefined {
  const [shorter, longer] = [Math.min(width, height), Math.max(width, height)];
  if (shorter <= 0) return "is an image without a single point; send one that shows something";
  const size = `is an image of ${width} by ${height} points`;
  if (longer > mostPointsOnASide || weight > mostPoints) {
    return `${size}, and at most ${mostPointsOnASide} on a side and ${mostPoints / 1e6} million in all are read (half of that with 16 bits a channel); make it smaller`;
  }
  return longer > shorter * mostSideRatio
    ? `${size}, more than ${mostSideRatio} times as long as wide; cut it into parts`
    : undefined;
}
