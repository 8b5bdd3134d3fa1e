import { inspect } from "node:util";

const shown = "[hidden]";

/**
 * Wraps a key, token or prompt so that printing, logging or serialising it by accident shows nothing.
 * `reveal` is the only way to the value, so a search for it finds every place that uses a secret.
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
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}
