import { hash } from "node:crypto";
import { leafText } from "@hearth-and-keep/audit-records";
import { hashLeaf } from "@hearth-and-keep/transparency-log";

/** Node's synchronous SHA-256, for the packages that also run in browsers. */
export function sha256(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hash("sha256", bytes, "buffer"));
}

/** Hexadecimal. */
export function hashText(text: string): string {
  return hash("sha256", text);
}

/** The leaf of a record, by the hash of its text. */
export function hashRecordLeaf(leaf: Parameters<typeof leafText>[0]): Uint8Array<ArrayBuffer> {
  return hashLeaf(Uint8Array.from(Buffer.from(leafText(leaf))), sha256);
}

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
