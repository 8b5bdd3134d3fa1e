import { quote } from "../model-file-error.ts";
import type { StringList } from "../reading/value-kinds.ts";
import { rejectKey } from "./metadata-values.ts";

/** llama.cpp's name for a SentencePiece vocabulary, which encodes unknown characters as bytes. */
const sentencePieceModel = "llama";

/** Native code looks tokens up by text, and aborts the process if two are equal or a byte has no token. */
export function checkTokens(
  tokens: StringList,
  { key, model }: { readonly key: string; readonly model: string | undefined },
): void {
  const seen = new Set<string>();
  for (const text of tokens.binaryStrings()) {
    const token = toNativeToken(text, seen.size);
    if (seen.has(token)) {
      const message = `The vocabulary contains the token ${quote(Buffer.from(token, "latin1").toString("utf8"))} twice`;
      return rejectKey(key, message, "vocabulary-inconsistent");
    }
    seen.add(token);
  }
  if (model === sentencePieceModel) checkByteTokens(seen, key);
}

/** Native code truncates a token at the first zero byte, and names an empty one by its index. */
function toNativeToken(text: string, index: number): string {
  const end = text.indexOf("\0");
  return (end === -1 ? text : text.slice(0, end)) || `[EMPTY_${index}]`;
}

/** A vocabulary may have no byte tokens at all; otherwise each byte needs one, or a token of that single character. */
function checkByteTokens(seen: ReadonlySet<string>, key: string): void {
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  if (!bytes.some((byte) => seen.has(byteToken(byte)))) return;
  const missing = bytes.find((byte) => !seen.has(byteToken(byte)) && !seen.has(String.fromCharCode(byte)));
  if (missing === undefined) return;
  const message = `The vocabulary has byte tokens, but none for the byte ${quote(byteToken(missing))}`;
  rejectKey(key, message, "vocabulary-inconsistent");
}

function byteToken(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}
