const alphabet = /^[\w+/-]*={0,2}$/u;
const mostHeadCharacters = 128;

/** Node's own decoder leaves out what is no base64 and says nothing. Line breaks are allowed. */
export function decodeBase64(text: string): Buffer | undefined {
  const bare = /\s/u.test(text) ? text.replaceAll(/\s/gu, "") : text;
  return bare === "" || !alphabet.test(bare) ? undefined : Buffer.from(bare, "base64");
}

/** How many bytes a text stands for at most, known before any is decoded. */
export function decodedLength(text: string): number {
  return Math.floor((text.length * 3) / 4);
}

export type DataUrl = {
  /** In small letters; empty when the URL names none. */
  readonly mediaType: string;
  readonly base64: string;
};

/** What stands before the bytes is short, so the rest is not searched. */
export function splitDataUrl(url: string): DataUrl | undefined {
  const comma = url.slice(0, mostHeadCharacters).indexOf(",");
  if (!/^data:/iu.test(url.slice(0, 5)) || comma === -1) return undefined;
  const [mediaType = "", ...parameters] = url.slice(5, comma).toLowerCase().split(";");
  return parameters.at(-1) === "base64" ? { mediaType, base64: url.slice(comma + 1) } : undefined;
}
