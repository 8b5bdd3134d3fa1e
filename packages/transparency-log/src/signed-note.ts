import { type Bytes, base64Bytes, base64Text, joinBytes } from "./bytes.ts";
import { isKeyName } from "./verifier-key.ts";

/** Text with signatures of one or more keys (C2SP signed-note). */
export type SignedNote = {
  /** Ends with a newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
};

/** Name and ID of the key, and the bytes whose meaning depends on the key's type; not verified. */
export type NoteSignature = { readonly name: string; readonly keyId: number; readonly signature: Bytes };

/** Sixteen signatures of the largest known type have 110,000 characters. */
const maxNoteCharacters = 256 * 1024;
const maxSignatures = 64;
const keyIdLength = 4;
const linePrefix = "\u2014 ";
// Every one of ASCII but the newline.
// oxlint-disable-next-line no-control-regex -- matches control characters
const controlCharacter = /[\u0000-\u0009\u000b-\u001f]/u;

export function formatNote({ text, signatures }: SignedNote): string {
  const note = `${text}\n${signatures.map(formatSignature).join("")}`;
  if (parseNote(note)?.text !== text) throw new RangeError("The text or a signature cannot be in a note");
  return note;
}

/** Undefined unless the note is well-formed in every line; says nothing about the signatures. */
export function parseNote(note: string): SignedNote | undefined {
  if (note.length > maxNoteCharacters || !note.isWellFormed()) return undefined;
  if (controlCharacter.test(note)) return undefined;
  const blankLine = note.lastIndexOf("\n\n");
  if (blankLine === -1 || !note.endsWith("\n")) return undefined;
  const lines = note.slice(blankLine + 2, -1).split("\n");
  if (lines.length > maxSignatures) return undefined;
  const signatures = lines.map(parseSignature).filter((signature) => signature !== undefined);
  if (signatures.length !== lines.length) return undefined;
  return { text: note.slice(0, blankLine + 1), signatures };
}

function formatSignature({ name, keyId, signature }: NoteSignature): string {
  const id = new Uint8Array(keyIdLength);
  new DataView(id.buffer).setUint32(0, keyId);
  return `${linePrefix}${name} ${base64Text(joinBytes([id, signature]))}\n`;
}

function parseSignature(line: string): NoteSignature | undefined {
  if (!line.startsWith(linePrefix)) return undefined;
  const [name = "", encoded = "", ...surplus] = line.slice(linePrefix.length).split(" ");
  const bytes = base64Bytes(encoded);
  if (!isKeyName(name) || surplus.length > 0 || bytes === undefined) return undefined;
  if (bytes.length <= keyIdLength) return undefined;
  return { name, keyId: new DataView(bytes.buffer).getUint32(0), signature: bytes.slice(keyIdLength) };
}
