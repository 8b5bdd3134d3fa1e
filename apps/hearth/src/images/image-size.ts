/** Why an image is rejected. Completes a sentence that starts with its path in the body, e.g. "is damaged". */
export type RejectedImage = { readonly reason: string };

export type ImageSize = {
  readonly width: number;
  readonly height: number;
  /** The memory that decoding needs, in pixels; doubled if each channel has 16 bits. */
  readonly weight: number;
};

/** Throws RangeError if the bytes end too early. */
export type HeaderReader = (bytes: Buffer) => ImageSize | RejectedImage;
