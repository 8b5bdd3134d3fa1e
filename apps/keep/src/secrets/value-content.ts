import { isUtf8 } from "node:buffer";
import { requestFailure } from "../failures.ts";
import type { SecretType } from "./queries.ts";

export type Encoding = "utf8" | "base64";

const mostBytes: Readonly<Record<SecretType, number>> = {
  text: 65_536,
  json: 65_536,
  binary: 65_536,
  file: 1_048_576,
};

/** A value as it comes in a request. */
export function decodeValue(text: string, encoding: Encoding = "utf8"): Buffer {
  if (encoding === "utf8") {
    if (!text.isWellFormed()) throw invalid("must not have halves of characters");
    return Buffer.from(text, "utf8");
  }
  const bytes = Buffer.from(text, "base64");
  // Node skips characters that are not base64, so a wrong one is found by writing it back.
  if (bytes.toString("base64") !== text) throw invalid("must be base64 with its padding");
  return bytes;
}

/** How values of this type are written in an answer. */
export function encodeValue(value: Buffer, type: SecretType): { value: string; encoding: Encoding } {
  const encoding = type === "text" || type === "json" ? "utf8" : "base64";
  return { value: value.toString(encoding), encoding };
}

/** Refuses what is too large for its type, or is not what its type says. */
export function refuseUnfit(value: Buffer, type: SecretType, place = "value"): void {
  if (value.length > mostBytes[type]) {
    throw invalid(`must not have more than ${mostBytes[type]} bytes, being ${type}`, place);
  }
  if ((type === "text" || type === "json") && !isUtf8(value)) {
    throw invalid(`must be UTF-8, being ${type}`, place);
  }
  if (type === "json" && !isJson(value.toString("utf8"))) throw invalid("must be JSON, being json", place);
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The reason never quotes the value. */
function invalid(reason: string, place = "value"): Error {
  return requestFailure({ kind: "request-invalid", mistakes: [{ place, reason }] });
}
