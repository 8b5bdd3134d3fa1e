const alphabet = /^[\w+/-]*={0,2}$/u;
const maxHeaderLength = 128;

/** Strict, unlike Node's decoder, which silently skips invalid characters. Line breaks are allowed. */
export function decodeBase64(text: string): Buffer | undefined {
  const compact = /\s/u.test(text) ? text.replaceAll(/\s/gu, "") : text;
  return compact === "" || !alphabet.test(compact) ? undefined : Buffer.from(compact, "base64");
}

/** An upper bound on the decoded size, without decoding. */
export function decodedLength(text: string): number {
  return Math.floor((text.length * 3) / 4);
}

export type DataUrl = {
  /** Lower case; empty if the URL has none. */
  readonly mediaType: string;
  readonly base64: string;
};

/** Searches only the beginning for the comma, because the header is short and the data may be long. */
export function splitDataUrl(url: string): DataUrl | undefined {
  const comma = url.slice(0, maxHeaderLength).indexOf(",");
  if (!/^data:/iu.test(url.slice(0, 5)) || comma === -1) return undefined;
  const [mediaType = "", ...parameters] = url.slice(5, comma).toLowerCase().split(";");
  return parameters.at(-1) === "base64" ? { mediaType, base64: url.slice(comma + 1) } : undefined;
}
