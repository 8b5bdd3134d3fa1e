import { TemplateError } from "./template-error.ts";

/** Resource limits of a template run. Templates come from model files and are untrusted. */
export type TemplateLimits = {
  /** Evaluated nodes, created list items and copied text, combined. */
  readonly steps: number;
  /** Nested calls and blocks. */
  readonly depth: number;
  /** Bytes of the prompt, and of any intermediate string. */
  readonly textBytes: number;
  readonly sourceCharacters: number;
  /** Wall-clock limit, which covers the parser too. On a busy machine it is reached before the other limits. */
  readonly milliseconds: number;
};

/** Ordinary templates stay below a hundredth of this; hostile ones reach the limit within a second and 200 MB. */
export const defaultTemplateLimits: TemplateLimits = {
  steps: 4_000_000,
  depth: 500,
  textBytes: 16 * 1024 * 1024,
  sourceCharacters: 256 * 1024,
  milliseconds: 2_000,
};

const stepsPerItem = 8;
const bytesPerStep = 16;

export class Budget {
  readonly #limits: TemplateLimits;
  #stepsLeft: number;
  #depth = 0;

  constructor(limits: TemplateLimits) {
    this.#limits = limits;
    this.#stepsLeft = limits.steps;
  }

  spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0)
      throw new TemplateError(`it exceeds the limit of ${this.#limits.steps} steps`, true);
  }

  spendItems(count: number): void {
    this.spend(count * stepsPerItem);
  }

  /** For newly built strings. Concatenation copies nothing and is only measured. */
  spendText(bytes: number): void {
    if (bytes > this.#limits.textBytes) {
      throw new TemplateError(`it exceeds the limit of ${this.#limits.textBytes} bytes of text`, true);
    }
    this.spend(Math.ceil(bytes / bytesPerStep));
  }

  measure(text: string): string {
    if (text.length > this.#limits.textBytes) this.spendText(text.length);
    return text;
  }

  /** Runs `work` one nesting level deeper. */
  nest<Result>(work: () => Result): Result {
    if (this.#depth >= this.#limits.depth) {
      throw new TemplateError(`it exceeds the limit of ${this.#limits.depth} nested levels`, true);
    }
    this.#depth += 1;
    try {
      return work();
    } finally {
      this.#depth -= 1;
    }
  }
}
