import type { Image } from "@hearth-and-keep/engine";
import { requestFailure } from "../failures.ts";
import { decodeBase64, decodedLength, splitDataUrl } from "./base64.ts";
import type { FetchImage } from "./fetch-image.ts";
import { type ImageHead, readImageHead } from "./image-head.ts";
import type { Problem } from "./image-size.ts";

/** One image as a request names it; `place` is where it stands in the body. */
export type ImageSource = { readonly place: string } & (
  | { readonly base64: string; readonly declaredType?: string }
  | { readonly address: string }
);

export type ReadImagesParts = {
  /** Absent unless the server was told from whom images may be fetched. */
  readonly fetchImage?: FetchImage | undefined;
  readonly signal: AbortSignal;
};

/** Every image of a request, by the place where it stands. */
export type ImagesByPlace = ReadonlyMap<string, Image>;

const mostImages = 16;
const mostImageBytes = 20 * 1024 * 1024;
/** As much as the largest body holds; addresses are bound by it too. */
const mostBytesInAll = 64 * 1024 * 1024;
/** Of all images together, because an engine holds them all decoded at once: three bytes a point. */
const mostWeightInAll = 120_000_000;

/** Every check that needs no decoding, the cheap ones first. One image after the other: together they are bounded. */
export async function readImages(
  sources: readonly ImageSource[],
  parts: ReadImagesParts,
): Promise<ImagesByPlace> {
  const [, ...rest] = sources.slice(mostImages - 1);
  if (rest[0] !== undefined) {
    throw invalid(rest[0].place, `is one of ${sources.length} images; a request has at most ${mostImages}`);
  }
  const images = new Map<string, Image>();
  const sum = { bytes: 0, weight: 0 };
  for (const source of sources) {
    const bytes = "address" in source ? await fetchBytes(source, parts) : decodeBytes(source);
    const head = checkHead(bytes, source);
    sum.bytes += bytes.length;
    sum.weight += head.weight;
    if (sum.bytes > mostBytesInAll || sum.weight > mostWeightInAll) throw tooMuch(source.place);
    images.set(source.place, { bytes, mediaType: head.mediaType });
  }
  return images;
}

/** The image that was read for this place. */
export function imageAt(images: ImagesByPlace, place: string): Image {
  const image = images.get(place);
  if (image === undefined) throw new Error("Cannot find an image that was to be read before");
  return image;
}

/** What a data URL or an address of the web names, or a text that is bare base64 where that is allowed. */
export function sourceOf(
  text: string,
  place: string,
  { takesBare = false }: { readonly takesBare?: boolean } = {},
): ImageSource {
  const inline = splitDataUrl(text);
  if (inline !== undefined) return { place, base64: inline.base64, declaredType: inline.mediaType };
  if (takesBare) return { place, base64: text };
  if (/^https?:/iu.test(text.slice(0, 6))) return { place, address: text };
  throw invalid(place, 'must be a URL of the form "data:image/png;base64,<bytes>", or an address by https');
}

async function fetchBytes(
  { place, address }: Extract<ImageSource, { address: string }>,
  { fetchImage, signal }: ReadImagesParts,
): Promise<Buffer> {
  if (fetchImage === undefined) {
    throw invalid(
      place,
      'is an address, and this server fetches none; send the image itself as "data:image/png;base64,<bytes>", or name its host in --image-hosts when the server is started',
    );
  }
  return accept(await fetchImage(address, { mostBytes: mostImageBytes, signal }), place);
}

function decodeBytes({ place, base64 }: Extract<ImageSource, { base64: string }>): Buffer {
  if (decodedLength(base64) > mostImageBytes + 3) throw tooLarge(place);
  const bytes = decodeBase64(base64);
  if (bytes === undefined || bytes.length === 0) throw invalid(place, "must be an image in base64");
  if (bytes.length > mostImageBytes) throw tooLarge(place);
  return bytes;
}

/** Names that clients write for the same kind. */
const sameTypes: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/x-png": "image/png",
  "image/x-ms-bmp": "image/bmp",
  "image/x-bmp": "image/bmp",
};

function checkHead(bytes: Buffer, source: ImageSource): ImageHead {
  const head = accept(readImageHead(bytes), source.place);
  const declared = ("declaredType" in source ? source.declaredType : "") ?? "";
  if (declared !== "" && (sameTypes[declared] ?? declared) !== head.mediaType) {
    throw invalid(source.place, `is said to be "${declared}" and is ${head.mediaType}; say what it is`);
  }
  return head;
}

function accept<Value extends object>(value: Value | Problem, place: string): Value {
  if ("problem" in value) throw invalid(place, value.problem);
  return value;
}

function tooLarge(place: string): Error {
  return invalid(place, `is an image of more than ${mostImageBytes / 1024 / 1024} MiB; make it smaller`);
}

function tooMuch(place: string): Error {
  return invalid(
    place,
    `is one image too many: all together may have ${mostBytesInAll / 1024 / 1024} MiB and ${mostWeightInAll / 1e6} million points; make them smaller or send fewer`,
  );
}

function invalid(place: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", place, reason });
}
