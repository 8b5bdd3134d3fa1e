import { inspect } from "node:util";

const placeholder = "[hidden]";

/**
 * Wraps a key, token or prompt, so that printing, logging or serialising it by accident does not disclose it.
 * `reveal` is the only way to read the value, so searching for it finds every use of a secret.
 */
export class Hidden<Value> {
  readonly #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  reveal(): Value {
    return this.#value;
  }

  toString(): string {
    return placeholder;
  }

  toJSON(): string {
    return placeholder;
  }

  [inspect.custom](): string {
    return placeholder;
  }
}
