/** Input of a terminal: pasted text, or typed keys, of which only the last one can be Enter, Ctrl-C or Ctrl-D. */
export type TerminalInput = { readonly kind: "keys" | "paste"; readonly text: string };

const pasteStart = "\u001B[200~";
const pasteEnd = "\u001B[201~";
/** Lines that arrive within this time count as pasted, for terminals without bracketed paste. */
const pasteMilliseconds = 15;
/** How long to wait for the rest of a marker; the Escape key, which starts like one, is delayed by this. */
const partialMarkerMilliseconds = 50;
const maxPastedCharacters = 1_000_000;
/** Keys up to and including Enter, Ctrl-C or Ctrl-D. */
// oxlint-disable-next-line no-control-regex -- matches control characters
const keysOfOneLine = /[^\r\n\u0003\u0004]*(?:\r\n|[\r\n\u0003\u0004]|$)/gu;
// oxlint-disable-next-line no-control-regex -- matches control characters
const controls = /[\u0000-\u0008\u000B-\u001F\u007F]/gu;

/**
 * Separates typed keys from pasted text. In bracketed-paste mode, terminals put markers around pasted text; until the
 * first marker is seen, several lines that arrive at once also count as pasted.
 */
export class InputParser {
  readonly #onInput: (input: TerminalInput) => void;
  #buffer = "";
  /** The text of an open paste so far. */
  #pasted: string | undefined;
  #hasSeenMarker = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(onInput: (input: TerminalInput) => void) {
    this.#onInput = onInput;
  }

  feed(text: string): void {
    clearTimeout(this.#timer);
    this.#buffer += text;
    while (this.#consumeMarker());
    if (this.#pasted !== undefined || this.#buffer === "") return;
    const wait = this.#waitMilliseconds();
    if (wait === 0) this.#flush();
    else this.#timer = setTimeout(() => this.#flush(), wait);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Handles the next marker in the buffer; returns whether there was one. */
  #consumeMarker(): boolean {
    const isInPaste = this.#pasted !== undefined;
    const marker = isInPaste ? pasteEnd : pasteStart;
    const index = this.#buffer.indexOf(marker);
    if (isInPaste)
      this.#addPasted(index < 0 ? this.#buffer.length - partialMatchLength(marker, this.#buffer) : index);
    if (index < 0) return false;
    if (isInPaste) {
      this.#buffer = this.#buffer.slice(marker.length);
      this.#onInput({ kind: "paste", text: stripControls(this.#pasted ?? "") });
      this.#pasted = undefined;
      return true;
    }
    const after = this.#buffer.slice(index + marker.length);
    this.#buffer = this.#buffer.slice(0, index);
    this.#hasSeenMarker = true;
    this.#flush();
    this.#buffer = after;
    this.#pasted = "";
    return true;
  }

  #addPasted(length: number): void {
    this.#pasted = ((this.#pasted ?? "") + this.#buffer.slice(0, length)).slice(0, maxPastedCharacters);
    this.#buffer = this.#buffer.slice(length);
  }

  #waitMilliseconds(): number {
    if (partialMatchLength(pasteStart, this.#buffer) > 0) return partialMarkerMilliseconds;
    return !this.#hasSeenMarker && /[\r\n]$/u.test(this.#buffer) ? pasteMilliseconds : 0;
  }

  #flush(): void {
    const text = this.#buffer;
    this.#buffer = "";
    const body = text.replace(/\r?\n$|\r$/u, "");
    const isPaste =
      !this.#hasSeenMarker && /[\r\n]/u.test(body) && stripControls(body) === normalizeNewlines(body);
    if (isPaste) this.#onInput({ kind: "paste", text: stripControls(body) });
    for (const [keys] of (isPaste ? text.slice(body.length) : text).matchAll(keysOfOneLine)) {
      if (keys !== "") this.#onInput({ kind: "keys", text: keys });
    }
  }
}

/** The length of the longest suffix of a text that may be the start of a marker. */
function partialMatchLength(marker: string, text: string): number {
  for (let length = marker.length - 1; length > 0; length -= 1) {
    if (text.endsWith(marker.slice(0, length))) return length;
  }
  return 0;
}

function normalizeNewlines(text: string): string {
  return text.replaceAll(/\r\n|\r/gu, "\n");
}

/** Pasted control characters must not act as keys. */
function stripControls(text: string): string {
  return normalizeNewlines(text).replaceAll(controls, "");
}
