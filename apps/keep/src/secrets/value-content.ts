import { isUtf8 } from "node:buffer";
import { requestFailure } from "../failures.ts";
import type { SecretType } from "./queries.ts";

export type Encoding = "utf8" | "base64";

const maxBytes: Readonly<Record<SecretType, number>> = {
  text: 65_536,
  json: 65_536,
  binary: 65_536,
  file: 1_048_576,
};

/** Decodes a value from a request. */
export function decodeValue(text: string, encoding: Encoding = "utf8"): Buffer {
  if (encoding === "utf8") {
    if (!text.isWellFormed()) throw invalid("must not contain lone surrogates");
    return Buffer.from(text, "utf8");
  }
  const bytes = Buffer.from(text, "base64");
  // Node's decoder skips invalid characters, so they are detected by encoding again.
  if (bytes.toString("base64") !== text) throw invalid("must be valid base64 with padding");
  return bytes;
}

/** Encodes a value for a response: text as UTF-8, everything else as base64. */
export function encodeValue(value: Buffer, type: SecretType): { value: string; encoding: Encoding } {
  const encoding = encodingOf(type);
  return { value: value.toString(encoding), encoding };
}

function encodingOf(type: SecretType): Encoding {
  return type === "text" || type === "json" ? "utf8" : "base64";
}

/** The bytes of an encoded value in JSON. Base64 is not encoded for it, because a value can have a mebibyte. */
export function countJsonBytes(value: Buffer, type: SecretType): number {
  if (encodingOf(type) === "utf8") return Buffer.byteLength(JSON.stringify(value.toString("utf8")));
  const quotes = 2;
  return Math.ceil(value.length / 3) * 4 + quotes;
}

/** Checks the size limit and the content of the type. */
export function assertValidValue(value: Buffer, type: SecretType, field = "value"): void {
  if (value.length > maxBytes[type]) {
    throw invalid(`must be at most ${maxBytes[type]} bytes for type ${type}`, field);
  }
  if ((type === "text" || type === "json") && !isUtf8(value)) {
    throw invalid(`must be valid UTF-8 for type ${type}`, field);
  }
  if (type === "json" && !isJson(value.toString("utf8"))) throw invalid("must be valid JSON", field);
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The reason must never quote the value. */
function invalid(reason: string, field = "value"): Error {
  return requestFailure({ kind: "request-invalid", errors: [{ field, reason }] });
}
