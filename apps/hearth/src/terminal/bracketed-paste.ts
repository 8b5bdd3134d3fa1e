/** What came from the keyboard: keys, of which only the last can end a line or interrupt, or a text that was pasted. */
export type Stroke = { readonly kind: "keys" | "paste"; readonly text: string };

const startMark = "\u001B[200~";
const endMark = "\u001B[201~";
/** Lines that come together were pasted; for terminals that do not say what is pasted. */
const pasteMilliseconds = 15;
/** A mark may come in two parts, and a key that begins like one must not wait long. */
const markMilliseconds = 50;
const mostPastedCharacters = 1_000_000;
/** Keys up to one that ends a line, interrupts or leaves. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const keysOfOneLine = /[^\r\n\u0003\u0004]*(?:\r\n|[\r\n\u0003\u0004]|$)/gu;
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const controls = /[\u0000-\u0008\u000B-\u001F\u007F]/gu;

/**
 * Tells typing from pasting. A terminal that was asked to puts marks around what is pasted, however slowly it comes;
 * until the first mark has been seen, lines that come at once are taken for pasted as well.
 */
export class KeyIntake {
  readonly #onStroke: (stroke: Stroke) => void;
  #held = "";
  /** What has been pasted so far, while it is. */
  #pasted: string | undefined;
  #hasMarks = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(onStroke: (stroke: Stroke) => void) {
    this.#onStroke = onStroke;
  }

  take(text: string): void {
    clearTimeout(this.#timer);
    this.#held += text;
    while (this.#takeMark());
    if (this.#pasted !== undefined || this.#held === "") return;
    const wait = this.#undecidedMilliseconds();
    if (wait === 0) this.#release();
    else this.#timer = setTimeout(() => this.#release(), wait);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** True when there may be another one. */
  #takeMark(): boolean {
    const isInside = this.#pasted !== undefined;
    const mark = isInside ? endMark : startMark;
    const place = this.#held.indexOf(mark);
    if (isInside) this.#addPasted(place < 0 ? this.#held.length - partOf(mark, this.#held) : place);
    if (place < 0) return false;
    if (isInside) {
      this.#held = this.#held.slice(mark.length);
      this.#onStroke({ kind: "paste", text: cleanPaste(this.#pasted ?? "") });
      this.#pasted = undefined;
      return true;
    }
    const after = this.#held.slice(place + mark.length);
    this.#held = this.#held.slice(0, place);
    this.#hasMarks = true;
    this.#release();
    this.#held = after;
    this.#pasted = "";
    return true;
  }

  #addPasted(length: number): void {
    this.#pasted = ((this.#pasted ?? "") + this.#held.slice(0, length)).slice(0, mostPastedCharacters);
    this.#held = this.#held.slice(length);
  }

  #undecidedMilliseconds(): number {
    if (partOf(startMark, this.#held) > 0) return markMilliseconds;
    return !this.#hasMarks && /[\r\n]$/u.test(this.#held) ? pasteMilliseconds : 0;
  }

  #release(): void {
    const text = this.#held;
    this.#held = "";
    const body = text.replace(/\r?\n$|\r$/u, "");
    const isPaste = !this.#hasMarks && /[\r\n]/u.test(body) && cleanPaste(body) === withLineEnds(body);
    if (isPaste) this.#onStroke({ kind: "paste", text: cleanPaste(body) });
    for (const [keys] of (isPaste ? text.slice(body.length) : text).matchAll(keysOfOneLine)) {
      if (keys !== "") this.#onStroke({ kind: "keys", text: keys });
    }
  }
}

/** How many letters at the end of a text may be the start of a mark. */
function partOf(mark: string, text: string): number {
  for (let length = mark.length - 1; length > 0; length -= 1) {
    if (text.endsWith(mark.slice(0, length))) return length;
  }
  return 0;
}

function withLineEnds(text: string): string {
  return text.replaceAll(/\r\n|\r/gu, "\n");
}

/** What is pasted presses no keys. */
function cleanPaste(text: string): string {
  return withLineEnds(text).replaceAll(controls, "");
}
