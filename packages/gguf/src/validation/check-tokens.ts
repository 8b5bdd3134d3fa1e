import { quote } from "../model-file-error.ts";
import type { StringList } from "../reading/value-kinds.ts";
import { refuseKey } from "./metadata-values.ts";

/** What llama.cpp calls a vocabulary of sentence pieces, which spells unknown characters in bytes. */
const sentencePieces = "llama";

/** Native code looks tokens up by their text, and ends the process when two are the same or a byte has none. */
export function checkTokens(
  tokens: StringList,
  { key, model }: { readonly key: string; readonly model: string | undefined },
): void {
  const known = new Set<string>();
  for (const text of tokens.eachAsBytes()) {
    const token = asNativeCodeReads(text, known.size);
    if (known.has(token)) {
      const sentence = `The vocabulary has the token ${quote(Buffer.from(token, "latin1").toString("utf8"))} twice`;
      return refuseKey(key, sentence, "vocabulary-inconsistent");
    }
    known.add(token);
  }
  if (model === sentencePieces) checkBytes(known, key);
}

/** Its texts end at the first zero, and an empty one is named by its place. */
function asNativeCodeReads(text: string, index: number): string {
  const end = text.indexOf("\0");
  return (end === -1 ? text : text.slice(0, end)) || `[EMPTY_${index}]`;
}

/** A vocabulary may do without tokens for bytes; with some of them, each byte needs one or stands for itself. */
function checkBytes(known: ReadonlySet<string>, key: string): void {
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  if (!bytes.some((byte) => known.has(nameOfByte(byte)))) return;
  const missing = bytes.find((byte) => !known.has(nameOfByte(byte)) && !known.has(String.fromCharCode(byte)));
  if (missing === undefined) return;
  const sentence = `The vocabulary has tokens for bytes, but none for the byte ${quote(nameOfByte(missing))}`;
  refuseKey(key, sentence, "vocabulary-inconsistent");
}

function nameOfByte(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}
