import { createWebpConverter } from "@hearth-and-keep/document-text";
import type { Image } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { invalidField } from "../failures.ts";
import { decodeBase64, decodedLength, splitDataUrl } from "./base64.ts";
import type { FetchImage } from "./fetch-image.ts";
import { type ImageHeader, readImageHeader } from "./image-header.ts";
import type { RejectedImage } from "./image-size.ts";

/** An image in a request; `field` is its path in the body. */
export type ImageSource = { readonly field: string } & (
  | { readonly base64: string; readonly declaredType?: string }
  | { readonly url: string }
);

export type ReadImagesOptions = {
  /** Absent unless --image-hosts is set. */
  readonly fetchImage?: FetchImage | undefined;
  readonly signal: AbortSignal;
  /** Left out if they cannot be read or exceed the limits; the last ones are preferred. */
  readonly optional?: readonly ImageSource[];
};

type HeldImage = { readonly bytes: Buffer; readonly mediaType: string };

/** Every image of a request, by its path in the body. */
export type ImagesByField = ReadonlyMap<string, Image>;

const webpType = "image/webp";
export const maxImages = 16;
/** A history may have thousands of images that cannot be read, or URLs that time out. */
const maxOptionalReads = 2 * maxImages;
const maxImageBytes = 20 * 1024 * 1024;
/** The limit on request bodies, which also applies to fetched images. */
const maxTotalBytes = 64 * 1024 * 1024;
/** For all images together, because the engine holds them decoded at the same time, at three bytes per pixel. */
const maxTotalWeight = 120_000_000;

/** Runs every check that needs no decoding, the cheap ones first. Sequential, so that the totals bound memory. */
export async function readImages(
  sources: readonly ImageSource[],
  options: ReadImagesOptions,
): Promise<ImagesByField> {
  const [, ...rest] = sources.slice(maxImages - 1);
  if (rest[0] !== undefined) {
    throw invalidField(
      rest[0].field,
      `is one of ${sources.length} images; at most ${maxImages} are allowed per request`,
    );
  }
  const images = new Map<string, Image>();
  const total: Total = { bytes: 0, weight: 0 };
  for (const source of sources) images.set(source.field, await readImage(source, total, options));
  for (const source of (options.optional ?? []).slice(-maxOptionalReads).toReversed()) {
    if (images.size === maxImages) break;
    const image = await readImage(source, total, options).catch(ignoreFailure);
    if (image !== undefined) images.set(source.field, image);
  }
  return images;
}

type Total = { bytes: number; weight: number };

/** Adds the image to the total, unless it is rejected. */
async function readImage(source: ImageSource, total: Total, options: ReadImagesOptions): Promise<Image> {
  const bytes = "url" in source ? await fetchBytes(source, options) : decodeBytes(source);
  const header = checkHeader(bytes, source);
  const weight = total.weight + header.weight;
  if (total.bytes + bytes.length > maxTotalBytes || weight > maxTotalWeight)
    throw totalTooLarge(source.field);
  const image = await toEngineImage({ bytes, mediaType: header.mediaType }, source.field, options);
  // A converted image can be larger.
  if (total.bytes + image.bytes.length > maxTotalBytes) throw totalTooLarge(source.field);
  total.bytes += image.bytes.length;
  total.weight = weight;
  return image;
}

function ignoreFailure(error: unknown): undefined {
  if (!(error instanceof FailureError)) throw error;
}

/** One for all requests, so that its limits on processes hold for the server. It starts none before the first image. */
const webpConverter = createWebpConverter();

/** Engines do not read WebP. */
async function toEngineImage(
  { bytes, mediaType }: HeldImage,
  field: string,
  { signal }: ReadImagesOptions,
): Promise<Image> {
  if (mediaType !== webpType) return { bytes, mediaType };
  return { bytes: accept(await webpConverter.convert(bytes, signal), field), mediaType: "image/png" };
}

/** The image that `readImages` read at this path. */
export function imageAt(images: ImagesByField, field: string): Image {
  const image = images.get(field);
  if (image === undefined) throw new Error("readImages did not read this image");
  return image;
}

/** Accepts data URLs and https URLs, and bare base64 if allowed. */
export function parseImageSource(
  text: string,
  field: string,
  { allowsBareBase64 = false }: { readonly allowsBareBase64?: boolean } = {},
): ImageSource {
  const inline = splitDataUrl(text);
  if (inline !== undefined) return { field, base64: inline.base64, declaredType: inline.mediaType };
  if (allowsBareBase64) return { field, base64: text };
  if (/^https?:/iu.test(text.slice(0, 6))) return { field, url: text };
  throw invalidField(field, 'must be a data URL such as "data:image/png;base64,<bytes>", or an https URL');
}

async function fetchBytes(
  { field, url }: Extract<ImageSource, { url: string }>,
  { fetchImage, signal }: ReadImagesOptions,
): Promise<Buffer> {
  if (fetchImage === undefined) {
    throw invalidField(
      field,
      'is a URL, but this server does not fetch images; send "data:image/png;base64,<bytes>", or start the server with the host in --image-hosts',
    );
  }
  return accept(await fetchImage(url, { maxBytes: maxImageBytes, signal }), field);
}

function decodeBytes({ field, base64 }: Extract<ImageSource, { base64: string }>): Buffer {
  if (decodedLength(base64) > maxImageBytes + 3) throw tooLarge(field);
  const bytes = decodeBase64(base64);
  if (bytes === undefined || bytes.length === 0) throw invalidField(field, "must be a base64-encoded image");
  if (bytes.length > maxImageBytes) throw tooLarge(field);
  return bytes;
}

/** Other names that clients use for the same media type. */
const mediaTypeAliases: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/x-png": "image/png",
  "image/x-ms-bmp": "image/bmp",
  "image/x-bmp": "image/bmp",
};

function checkHeader(bytes: Buffer, source: ImageSource): ImageHeader {
  const header = accept(readImageHeader(bytes), source.field);
  const declared = ("declaredType" in source ? source.declaredType : "") ?? "";
  if (declared !== "" && (mediaTypeAliases[declared] ?? declared) !== header.mediaType) {
    throw invalidField(
      source.field,
      `is declared as "${declared}" but is ${header.mediaType}; declare the actual type`,
    );
  }
  return header;
}

function accept<Value extends object>(value: Value | RejectedImage, field: string): Value {
  if ("reason" in value) throw invalidField(field, value.reason);
  return value;
}

function tooLarge(field: string): Error {
  return invalidField(field, `exceeds ${maxImageBytes / 1024 / 1024} MiB; send a smaller image`);
}

function totalTooLarge(field: string): Error {
  return invalidField(
    field,
    `exceeds the limit for all images of a request (${maxTotalBytes / 1024 / 1024} MiB, ${maxTotalWeight / 1e6} million pixels); send smaller or fewer images`,
  );
}
