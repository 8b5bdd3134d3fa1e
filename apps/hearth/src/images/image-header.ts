/**
 * @module
 * Images in requests: reads their type and size from the header without decoding, enforces limits on number and size,
 * and fetches image URLs from allowed hosts only. Images are decoded in the engine's process, or for WebP, which engines
 * do not read, in a sandboxed process of `document-text`, and only if the header describes an image of a reasonable
 * size.
 * Imported by all dialects, by `dependencies.ts` and by `commands/serve.ts`.
 */
import { readBmpHeader } from "./bmp-header.ts";
import { readGifHeader } from "./gif-header.ts";
import type { HeaderReader, ImageSize, RejectedImage } from "./image-size.ts";
import { readJpegHeader } from "./jpeg-header.ts";
import { readPngHeader } from "./png-header.ts";
import { readWebpHeader } from "./webp-header.ts";

export type ImageHeader = ImageSize & { readonly mediaType: string };

type ImageFormat = { readonly mediaType: string; readonly signature: RegExp; readonly read: HeaderReader };

const formats: readonly ImageFormat[] = [
  { mediaType: "image/png", signature: /^\x89PNG\r\n.\n/u, read: readPngHeader },
  { mediaType: "image/jpeg", signature: /^\xff\xd8\xff/u, read: readJpegHeader },
  { mediaType: "image/gif", signature: /^GIF8[79]a/u, read: readGifHeader },
  { mediaType: "image/bmp", signature: /^BM/u, read: readBmpHeader },
  { mediaType: "image/webp", signature: /^RIFF.{4}WEBP/su, read: readWebpHeader },
];

/** Common formats that llama.cpp does not decode. */
const unsupportedFormats: readonly { readonly name: string; readonly signature: RegExp }[] = [
  { name: "HEIC or AVIF", signature: /^.{4}ftyp/su },
  { name: "TIFF", signature: /^(?:II\*\0|MM\0\*)/u },
];

const maxSidePixels = 16_384;
const maxPixels = 40_000_000;
/** Beyond this the shorter side has no pixels left once an image is scaled for a model. */
const maxAspectRatio = 200;

export function readImageHeader(bytes: Buffer): ImageHeader | RejectedImage {
  const start = bytes.toString("latin1", 0, 12);
  const format = formats.find(({ signature }) => signature.test(start));
  if (format === undefined) return { reason: describeUnsupported(start) };
  const size = readSize(format.read, bytes);
  if ("reason" in size) return size;
  const reason = checkSize(size);
  return reason === undefined ? { mediaType: format.mediaType, ...size } : { reason };
}

function describeUnsupported(start: string): string {
  const name = unsupportedFormats.find(({ signature }) => signature.test(start))?.name;
  const what = name === undefined ? "is not a supported image" : `is a ${name} image, which is not supported`;
  return `${what}; send a PNG, JPEG, WebP, GIF or BMP`;
}

function readSize(read: HeaderReader, bytes: Buffer): ImageSize | RejectedImage {
  try {
    return read(bytes);
  } catch (error) {
    if (error instanceof RangeError) return { reason: "is a truncated image; send the complete file" };
    throw error;
  }
}

function checkSize({ width, height, weight }: ImageSize): string | undefined {
  const [shorter, longer] = [Math.min(width, height), Math.max(width, height)];
  if (shorter <= 0) return "is an image without pixels; send another image";
  const size = `is ${width} × ${height} pixels`;
  if (longer > maxSidePixels || weight > maxPixels) {
    return `${size}; the maximum is ${maxSidePixels} per side and ${maxPixels / 1e6} million in total (half of that with 16 bits per channel)`;
  }
  return longer > shorter * maxAspectRatio
    ? `${size}; the aspect ratio may be at most ${maxAspectRatio}:1`
    : undefined;
}
