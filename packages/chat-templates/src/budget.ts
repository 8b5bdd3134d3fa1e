import { TemplateError } from "./template-error.ts";

/** How much a template may do. Templates come from model files, so nobody has looked at them before they run. */
export type TemplateLimits = {
  /** Nodes evaluated, list items made and stretches of text copied, together. */
  readonly steps: number;
  /** Calls and blocks inside each other. */
  readonly depth: number;
  /** Bytes of the prompt, and of any text on the way to it. */
  readonly textBytes: number;
  readonly sourceCharacters: number;
  /** The clock has the last word, over the parser too; on a busy machine it runs faster than the work. */
  readonly milliseconds: number;
};

/** Honest templates stay a hundred times below; hostile ones use up their steps within a second and 200 MB. */
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
    if (this.#stepsLeft < 0) throw new TemplateError(`it takes more than ${this.#limits.steps} steps`, true);
  }

  spendItems(count: number): void {
    this.spend(count * stepsPerItem);
  }

  /** For text that is built anew; joining two texts copies nothing and is only measured. */
  spendText(bytes: number): void {
    if (bytes > this.#limits.textBytes) {
      throw new TemplateError(`it makes a text of more than ${this.#limits.textBytes} bytes`, true);
    }
    this.spend(Math.ceil(bytes / bytesPerStep));
  }

  measure(text: string): string {
    if (text.length > this.#limits.textBytes) this.spendText(text.length);
    return text;
  }

  /** Runs one level deeper. */
  nest<Result>(work: () => Result): Result {
    if (this.#depth >= this.#limits.depth) {
      throw new TemplateError(`it nests deeper than ${this.#limits.depth} levels`, true);
    }
    this.#depth += 1;
    try {
      return work();
    } finally {
      this.#depth -= 1;
    }
  }
}
