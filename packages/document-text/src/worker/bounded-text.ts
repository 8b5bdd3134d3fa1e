/** UTF-8 needs at most three bytes for each of JavaScript's characters. */
const maxBytesPerCharacter = 3;

/** Collects text until it has reached a number of bytes in UTF-8. */
export class BoundedText {
  readonly #pieces: string[] = [];
  #bytesLeft: number;
  #isFull = false;

  constructor(maxBytes: number) {
    this.#bytesLeft = maxBytes;
  }

  /** Whether something did not fit. */
  get isFull(): boolean {
    return this.#isFull;
  }

  add(piece: string): void {
    if (this.#isFull) return;
    const bytes = Buffer.byteLength(piece);
    this.#isFull = bytes > this.#bytesLeft;
    this.#pieces.push(
      this.#isFull ? piece.slice(0, this.#bytesLeft / maxBytesPerCharacter).toWellFormed() : piece,
    );
    this.#bytesLeft -= bytes;
  }

  toString(): string {
    return this.#pieces.join("");
  }
}
