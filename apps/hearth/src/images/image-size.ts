/** Why something cannot be taken, as the end of a sentence that begins with its place. */
export type Problem = { readonly problem: string };

export type ImageSize = {
  readonly width: number;
  readonly height: number;
  /** What a decoder needs memory for: points, twice as many when each channel has 16 bits. */
  readonly weight: number;
};

/** Reads a size, or says what is wrong. Throws RangeError where the bytes end too early. */
export type HeadReader = (bytes: Buffer) => ImageSize | Problem;
